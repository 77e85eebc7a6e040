"""What is asked: workload files, tracing them in a child, their facts."""
