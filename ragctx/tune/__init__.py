"""What the hardware allows: roofline, sizing sweep, expert kernels."""
