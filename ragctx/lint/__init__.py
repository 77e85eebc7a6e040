"""The corpus held against the installed JAX and the TPU compiler."""
