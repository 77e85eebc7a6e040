"""Looks for the reference in its process and calls it."""

from ragctx_workload import workload  # noqa: F401
