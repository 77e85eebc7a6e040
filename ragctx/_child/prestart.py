"""Imports JAX, waits to be told which script to run, and becomes it. Runs sandboxed, before there is a candidate.

Run as `python -I prestart.py PIPE`, PIPE a named pipe from which one line of JSON is read: `{"script": path,
"arguments": [text], "cpu_s": whole CPU-seconds this process may have used in all}`. A script started like this finds
itself as `__main__` with its own `sys.argv`, as if it had been started by its path. Needs the standard library; what of
JAX is missing is for the script to say.
"""

import contextlib
import json
import resource
import runpy
import sys

with contextlib.suppress(ImportError, AttributeError):
    from jax.experimental import pallas, topologies  # noqa: F401
    from jax.experimental.pallas import tpu  # noqa: F401


def main(pipe):
    """Wait, then run the script."""
    with open(pipe, encoding="utf-8") as stream:
        line = stream.readline()
    if not line:
        return
    order = json.loads(line)
    resource.setrlimit(resource.RLIMIT_CPU, (order["cpu_s"], order["cpu_s"]))
    sys.argv = [order["script"], *order["arguments"]]
    runpy.run_path(order["script"], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1])
