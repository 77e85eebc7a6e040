"""What a sandboxed interpreter must be able to read."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from pathlib import Path

from ragctx.errors import RagctxError

# `-I` keeps the user's site-packages and PYTHONPATH out; sys.path entries added by .pth files (an editable
# checkout, say) are left out on purpose: they would show a candidate the references it is judged by.
_ASK = """
import json, sys, sysconfig
paths = sysconfig.get_paths()
print(json.dumps([sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix,
                  *(paths[k] for k in ("stdlib", "platstdlib", "purelib", "platlib"))]))
"""


@functools.cache
def interpreter_paths(python: str) -> tuple[Path, ...]:
    """Return the folders and links a Python interpreter lives in: its own, its base's, its packages'.

    Args:
        python: Path of the executable, as it will be called (a virtual environment is known by its link).

    Raises:
        RagctxError: If it cannot be run.
    """
    try:
        answer = subprocess.run(
            [python, "-I", "-c", _ASK], capture_output=True, check=True, timeout=60, stdin=subprocess.DEVNULL
        ).stdout
        folders = {Path(text) for text in json.loads(answer)}
    except (OSError, subprocess.SubprocessError, ValueError):
        raise RagctxError(
            "cannot run the interpreter", where=python, remedy="name a Python 3 executable that has JAX installed"
        ) from None
    links = {Path(os.path.realpath(python))}
    hop = Path(os.path.abspath(python))
    while hop.is_symlink() and hop not in links:
        links.add(hop)
        hop = Path(os.path.normpath(hop.parent / os.readlink(hop)))
    return tuple(sorted(path for path in folders | links if path.exists() and path != Path("/")))
