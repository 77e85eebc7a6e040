import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent.parent


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_cli", ROOT / "docs" / "cli.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_docs_cli_is_what_help_says() -> None:
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == _generator().text(), "run: make docs"
