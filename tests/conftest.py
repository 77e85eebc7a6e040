"""What every test gets: no network beyond loopback, user folders of its own, an environment without settings."""

from __future__ import annotations

import ipaddress
import os
import socket
from pathlib import Path

import pytest


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
