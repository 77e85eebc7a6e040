"""Judging candidates: API check, trace, lower, TPU compile, numerics, integrity, latency."""
