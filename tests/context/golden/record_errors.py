"""Record the error that each rule's raising file gives: `python tests/context/golden/record_errors.py`.

Needs libtpu (Linux x86-64) and about two minutes. Writes errors.json beside this file: rule to message, with the folder
of the checkout taken out.
"""

from __future__ import annotations

import json
from pathlib import Path

from ragctx import data
from ragctx.children import run_script
from ragctx.targets import TARGETS

HERE = Path(__file__).resolve().parent


def main() -> None:
    messages = {}
    for file in sorted((data.corpus() / "rules").glob("*.raises.py")):
        request = {"file": str(file), "entry": "workload", "topology": TARGETS["v6e"].topology}
        result = run_script("raise_error.py", request)
        if result.answer is None or not result.answer["message"]:
            raise SystemExit(f"{file.name} raised nothing: {result.answer} {result.stderr}")
        message = f"{result.answer['type']}: {result.answer['message']}"
        messages[file.name.removesuffix(".raises.py")] = message.replace(f"{data.root()}/", "")
    text = json.dumps(messages, indent=1, ensure_ascii=False, sort_keys=True)
    (HERE / "errors.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
