"""Comparing arms of the loop."""
