"""Tells where an interpreter looks for modules, and its version.

Run as `python -I search_path.py REQUEST.json ANSWER.json`; the request is ignored.
Answer: {"path": [folders], "python": "3.11.7"}.
"""

import json
import platform
import sys

if __name__ == "__main__":
    folders = [folder for folder in sys.path if folder]
    with open(sys.argv[2], "w", encoding="utf-8") as answer:
        json.dump({"path": folders, "python": platform.python_version()}, answer)
