"""The same pool over a Ray cluster: each slot is an actor on some node that drives workers there.

Every node needs ragctx (the same version) and what it judges with; candidate and workload travel by content. Where the
cluster has TPUs, slots go to the nodes that have them and each takes one, so that latency is measured. What passes
through Ray is JSON text.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ragctx
from ragctx.errors import RagctxError, missing_extra
from ragctx.verify.cache import VerdictCache
from ragctx.verify.jobs import DEFAULT_JUDGE, Job, Judge, Texts, by_content, read_texts, without_candidate
from ragctx.verify.pool import Slot, VerifyPool, WorkerLost
from ragctx.verify.pool_local import MOST_ENDING_S, LocalSlot

TPU = "TPU"
_POLL_S = 1.0
# Nothing but a job's text and its verdict lies in Ray's memory.
_OBJECT_BYTES = 128 << 20


class RayPool(VerifyPool):
    """A pool over a Ray cluster.

    Args:
        address: `host:port`, `auto` for the cluster this machine belongs to, `local` for one of its own.
        workers: Jobs at a time; one a TPU, or a CPU where there is none, by default.
        judge: What is called for a job; it must be found by its name on every node.
        cache: Where verdicts are looked up and kept, on this machine.
        expect: A job like those to come.

    Raises:
        RagctxError: If Ray is not installed or the cluster does not answer.
    """

    def __init__(
        self,
        address: str,
        workers: int | None = None,
        *,
        judge: str | Judge = DEFAULT_JUDGE,
        cache: VerdictCache | None = None,
        expect: Job | None = None,
    ) -> None:
        self._ray = _import_ray()
        # Short, whatever TMPDIR says: Ray's sockets lie below it, and a socket's path has at most 107 bytes.
        self._folder = tempfile.mkdtemp(prefix="rr-", dir="/tmp") if address == "local" else ""
        self._ours = False
        try:
            self._ours = _connect(self._ray, address, self._folder)
            resources = self._ray.cluster_resources()
            self._tpu = resources.get(TPU, 0) >= 1
            count = int(resources.get(TPU if self._tpu else "CPU", 0))
            if count < 1:
                raise RagctxError("the Ray cluster has no CPU to give", where=address)
            super().__init__(count if workers is None else workers, judge=judge, cache=cache)
            expected = None if expect is None else without_candidate(by_content(expect, read_texts(expect)))
        except BaseException:
            self._disconnect()
            raise
        self._expected = json.dumps(expected)

    def _new_slot(self, number: int) -> Slot:
        return _RaySlot(self._ray, self._judge, self._expected, tpu=self._tpu)

    def _after_close(self) -> None:
        self._disconnect()

    def _disconnect(self) -> None:
        if self._ours:
            self._ours = False
            self._ray.shutdown()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


def _import_ray() -> Any:
    # Before Ray is imported: it reports usage to its makers unless told not to.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError:
        raise missing_extra("ray", "verifying on a Ray cluster") from None
    return ray


def _connect(ray: Any, address: str, folder: str) -> bool:
    """Connect to the cluster, or start one of this machine's own; return whether the connection is ours to end."""
    if ray.is_initialized():
        return False
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        options |= {"include_dashboard": False, "_temp_dir": folder, "object_store_memory": _OBJECT_BYTES}
    try:
        ray.init(address=address, **options)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise RagctxError(
            f"no Ray cluster answers: {first}", where=address, remedy="give host:port, auto or local"
        ) from None
    return True


class _RaySlot(Slot):
    """A slot on some node; a new actor takes the place of one that was lost."""

    def __init__(self, ray: Any, judge: str, expected: str, *, tpu: bool) -> None:
        self._ray, self._judge, self._expected = ray, judge, expected
        # A job of its own and calls that interrupt it run side by side.
        self._remote = ray.remote(
            num_cpus=1, resources={TPU: 1} if tpu else {}, max_restarts=0, max_task_retries=0, max_concurrency=4
        )(NodeSlot)
        self._actor: Any = None
        self._is_ready = self._closed = False

    def ready(self) -> None:
        """Wait until an actor runs: until then there may be no node with room for it."""
        if self._closed:
            raise WorkerLost("the pool is closed")
        if self._actor is None:
            self._is_ready = False
            self._actor = self._remote.remote(self._judge, self._expected, ragctx.__version__)
        if self._is_ready:
            return
        try:
            reference = self._actor.ready.remote()
            while not self._ray.wait([reference], timeout=_POLL_S)[0]:
                if self._closed:
                    raise WorkerLost("the pool is closed")
            problem = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            self._actor = None
            raise self._lost(error) from None
        if problem:
            raise RagctxError(problem)
        self._is_ready = True

    def run(self, ticket: int, job: Job, texts: Texts) -> Mapping[str, Any]:
        """Run a job on the actor's node."""
        return self._call(ticket, json.dumps(by_content(job, texts)))

    def _call(self, ticket: int, wire: str) -> Mapping[str, Any]:
        if self._actor is None or self._closed:
            raise WorkerLost("the pool is closed")
        try:
            answer: Mapping[str, Any] = json.loads(self._ray.get(self._actor.run.remote(ticket, wire)))
        except self._ray.exceptions.RayError as error:
            self._actor = None
            raise self._lost(error) from None
        if "lost" in answer:
            raise WorkerLost(answer["lost"])
        return answer

    def _lost(self, error: Exception) -> WorkerLost:
        return WorkerLost(f"its node or its place there was lost ({type(error).__name__})")

    def interrupt(self, ticket: int) -> None:
        """Tell the actor to end a run."""
        actor = self._actor
        if actor is not None:
            actor.interrupt.remote(ticket)

    def close(self) -> None:
        """End the actor, after it has ended its workers."""
        self._closed = True
        actor = self._actor
        if actor is None:
            return
        with contextlib.suppress(self._ray.exceptions.RayError):
            if self._is_ready:
                self._ray.wait([actor.close.remote()], timeout=MOST_ENDING_S + 5)
            self._ray.kill(actor)


class NodeSlot:
    """The actor: a `LocalSlot` on its node. Arguments and answers are JSON text."""

    def __init__(self, judge: str, expected: str, version: str) -> None:
        self._problem = ""
        if version != ragctx.__version__:
            self._problem = f"a node has ragctx {ragctx.__version__}, this machine {version}"
        self._folder = Path(tempfile.mkdtemp(prefix="ragctx-pool-"))
        self._folder.chmod(0o711)
        self._slot = LocalSlot(judge, json.loads(expected), None, self._folder)

    def ready(self) -> str:
        """Start a worker ahead; return what is wrong with this node, or ""."""
        if not self._problem:
            self._slot.ready()
        return self._problem

    def run(self, ticket: int, wire: str) -> str:
        """Run a job; return the answer, `{"lost": how}` if its worker died, or `{"error": ...}`."""
        try:
            return json.dumps(self._slot.run_wire(ticket, json.loads(wire)))
        except WorkerLost as lost:
            return json.dumps({"lost": str(lost)})
        except RagctxError as error:
            return json.dumps({"error": {"problem": error.problem, "where": error.where, "remedy": error.remedy}})

    def interrupt(self, ticket: int) -> None:
        """End a run."""
        self._slot.interrupt(ticket)

    def close(self) -> None:
        """End the workers and remove their files."""
        self._slot.close()
        shutil.rmtree(self._folder, ignore_errors=True)
