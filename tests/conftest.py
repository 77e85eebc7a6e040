"""What every test gets: no network beyond loopback, user folders of its own, an environment without settings."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ragctx.index import Index


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A suite started in the background of a shell has Ctrl-C ignored, and so would everything the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing with them")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and isinstance(address, tuple):
            host = str(address[0])
            loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
            if not loopback:
                raise AssertionError(f"a test tried to reach {host}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def _own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in [n for n in os.environ if n.startswith("RAGCTX_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))


@pytest.fixture(scope="session")
def checkout() -> Path:
    return Path(__file__).resolve().parent.parent


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with a file in `golden/` beside the test; `pytest --update-golden` writes it instead."""

    def compare(name: str, text: str) -> None:
        path = Path(request.path).parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture(scope="session")
def brine(checkout: Path) -> Path:
    """A small plain-Markdown documentation, without front matter, of a library that does not exist."""
    return checkout / "tests" / "data" / "brine"


@pytest.fixture(scope="session")
def brine_index(brine: Path, tmp_path_factory: pytest.TempPathFactory) -> Index:
    """The index of that documentation; tests only read it."""
    from ragctx.index import ensure_index, index_spec, load_sources

    return ensure_index(index_spec([brine]), tmp_path_factory.mktemp("brine"), load_sources)


@pytest.fixture(scope="session")
def shipped_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder (RAGCTX_CACHE) that holds the index of the shipped corpus and the installed JAX."""
    from ragctx.index import ensure_index, index_spec, load_sources

    cache = tmp_path_factory.mktemp("shipped")
    ensure_index(index_spec(), cache / "index", load_sources)
    return cache


@pytest.fixture(scope="session")
def shipped_index(shipped_cache: Path) -> Index:
    """The index of the shipped corpus and the installed JAX; tests only read it."""
    from ragctx.index import ensure_index, index_spec, load_sources

    return ensure_index(index_spec(), shipped_cache / "index", load_sources)


def has_tpu_compiler() -> bool:
    import importlib.util

    return importlib.util.find_spec("libtpu") is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if has_tpu_compiler():
        return
    skip = pytest.mark.skip(reason="needs libtpu: pip install 'ragctx[tpu]' on Linux x86-64")
    for item in items:
        if "tpu_compiler" in item.keywords:
            item.add_marker(skip)
