"""From a workload or a task to a prompt prefix under a token budget."""
