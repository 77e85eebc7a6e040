"""The pool over a Ray cluster: two nodes of one CPU each, really started here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pool_contract import PoolContract, alive
from pool_judges import judge

from ragctx.errors import RagctxError
from ragctx.verify.pool import VerifyPool, open_pool

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
# Read when Ray is imported: nodes keep to loopback, as Ray itself does on the systems the name speaks of.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
ray = pytest.importorskip("ray", reason="needs Ray: pip install 'ragctx[ray]'")

pytestmark = pytest.mark.slow
NODE = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False, "object_store_memory": 100 << 20}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(prefix="rr-", dir="/tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", folder)
        started = Cluster(initialize_head=True, head_node_args=NODE)
        started.add_node(**NODE)
        ray.init(address=started.address, log_to_driver=False, logging_level="ERROR")
        yield started
        ray.shutdown()
        started.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


class TestRayPool(PoolContract):
    @pytest.fixture
    def pool(self, cluster: Any) -> Callable[..., VerifyPool]:
        def make(**options: Any) -> VerifyPool:
            return open_pool(ray=cluster.address, **{"judge": judge, **options})

        return make

    def test_there_is_a_worker_for_each_cpu(self, pool: Callable[..., VerifyPool]) -> None:
        with pool() as ours:
            assert ours.workers == 2

    def test_a_node_that_dies_costs_one_retry(self, pool: Callable[..., VerifyPool], cluster: Any) -> None:
        there, go = self.folder / "there", self.folder / "go"
        there.mkdir()
        lost = next(node for node in cluster.list_all_nodes() if not node.head)
        with pool() as ours:
            futures = [ours.submit(self.job(f"arrive {there} {go}", name)) for name in ("a", "b")]
            self.wait_until(lambda: len(list(there.iterdir())) == 2)
            before = {int(path.name) for path in there.iterdir()}
            cluster.remove_node(lost, allow_graceful=False)
            self.wait_until(lambda: sum(alive(pid) for pid in before) == 1)
            go.touch()
            verdicts = [future.result(120) for future in futures]
        cluster.add_node(**NODE)
        assert [v.passed for v in verdicts] == [True, True]
        assert len(list(there.iterdir())) == 3

    def test_slots_go_to_the_tpus_of_a_cluster_that_has_some(
        self, pool: Callable[..., VerifyPool], cluster: Any
    ) -> None:
        there, go = self.folder / "there", self.folder / "go"
        there.mkdir()
        node = cluster.add_node(**NODE, resources={"TPU": 1})
        try:
            with pool() as ours:
                assert ours.workers == 1
                future = ours.submit(self.job(f"arrive {there} {go}"))
                self.wait_until(lambda: list(there.iterdir()))
                assert ray.available_resources().get("TPU", 0) == 0
                go.touch()
                assert future.result(60).passed is True
        finally:
            cluster.remove_node(node)

    def test_a_cluster_that_does_not_answer(self, tmp_path: Path) -> None:
        code = (
            "from ragctx.verify.pool import open_pool\nfrom ragctx.errors import RagctxError\n"
            "try:\n    open_pool(ray='nowhere')\nexcept RagctxError as error:\n    print(error)\n"
        )
        answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
        assert answer.stdout.startswith("nowhere: no Ray cluster answers: ")
        assert answer.stdout.endswith("; give host:port, auto or local\n") and answer.stdout.count("\n") == 1


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RagctxError, match=r"needs the 'ray' extra; run: pip install \"ragctx\[ray\]\""):
        open_pool(ray="auto")
