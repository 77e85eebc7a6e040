"""Files run by path in a child process; they import only the standard library, jax and numpy."""
