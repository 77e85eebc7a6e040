"""Many candidates over many workers: the part that is the same on one machine and on a cluster.

    with open_pool(workers=2) as pool:
        for outcome in pool.outcomes(jobs):          # in order; a generator of any length will do
            print(outcome.job.candidate, outcome.result().stage)

    verdict = await pool.verify(job)                 # cancelling the task ends the worker

A pool drives slots, one thread each. A slot runs one job at a time in a process that serves no other. A worker that
dies costs its job one retry, then a `crash` verdict.
"""

from __future__ import annotations

import abc
import asyncio
import atexit
import collections
import contextlib
import itertools
import queue
import threading
import weakref
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ragctx import failures
from ragctx.errors import RagctxError
from ragctx.failures import FailureKind
from ragctx.verify.cache import VerdictCache, verdict_key
from ragctx.verify.jobs import DEFAULT_JUDGE, Job, Judge, Texts, judge_name, read_texts
from ragctx.verify.stages import LADDER
from ragctx.verify.verdict import Stage, StageResult, Status, Verdict

ATTEMPTS = 2


class WorkerLost(Exception):
    """A worker ended before it answered; the text says how, in one line."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one job.

    Attributes:
        index: Its place in the order in which jobs were handed in, from 0.
        job: The job.
        verdict: Its verdict, or None.
        error: Why there is none: input that cannot be judged.
    """

    index: int
    job: Job
    verdict: Verdict | None
    error: RagctxError | None = None

    def result(self) -> Verdict:
        """Return the verdict.

        Raises:
            RagctxError: If there is none.
        """
        if self.verdict is None:
            assert self.error is not None
            raise self.error
        return self.verdict


class Slot(abc.ABC):
    """A place where one job runs at a time. `ready` and `run` are called by one thread, the others by any."""

    @abc.abstractmethod
    def ready(self) -> None:
        """Wait until a job could start.

        Raises:
            WorkerLost: If it is not, and should be asked again.
            RagctxError: If it never will be.
        """

    @abc.abstractmethod
    def run(self, ticket: int, job: Job, texts: Texts) -> Mapping[str, Any]:
        """Return the answer of a worker: `{"verdict": ...}` or `{"error": {"problem", "where", "remedy"}}`.

        Args:
            ticket: A number that no other run of the pool has.
            job: The job.
            texts: What its files said when it was handed in.

        Raises:
            WorkerLost: If the worker ended before it answered, or was interrupted.
            RagctxError: If none can be started.
        """

    @abc.abstractmethod
    def interrupt(self, ticket: int) -> None:
        """See to it that a run ends, and return without waiting for that; the run may be over or yet to come."""

    @abc.abstractmethod
    def close(self) -> None:
        """End everything; what runs raises WorkerLost. Nothing is left when that and this have returned."""


@dataclass(slots=True, eq=False)
class _Task:
    job: Job
    texts: Texts
    key: str | None
    future: Future[Verdict]
    attempts: int = 0
    runs: tuple[Slot, int] | None = None


class VerifyPool(abc.ABC):
    """Judges many candidates at a time.

    Args:
        workers: Jobs at a time.
        judge: What is called for a job: a function at the top of a module, or its name.
        cache: Where verdicts are looked up and kept, or None.
    """

    def __init__(self, workers: int, *, judge: str | Judge = DEFAULT_JUDGE, cache: VerdictCache | None = None) -> None:
        if workers < 1:
            raise RagctxError("there must be at least one worker", where="--jobs")
        self.workers = workers
        self._judge, self._cache = judge_name(judge), cache
        self._queue: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._slots: list[Slot] = []
        self._threads: list[threading.Thread] = []
        self._open: set[_Task] = set()
        self._tickets = itertools.count()
        self._usable = workers
        self._broken: RagctxError | None = None
        self._closed = False

    @abc.abstractmethod
    def _new_slot(self, number: int) -> Slot:
        """Return a slot; called for each in the thread that hands in the first job."""

    # --- handing in -------------------------------------------------------------------------------------------

    def submit(self, job: Job) -> Future[Verdict]:
        """Hand in a job; the future gives its verdict or raises RagctxError for input that cannot be judged.

        Cancelling the future ends the worker if the job already runs.
        """
        future: Future[Verdict] = Future()
        try:
            texts = read_texts(job)
            key = verdict_key(job, texts, self._judge) if self._cache is not None else None
        except RagctxError as error:
            future.set_exception(error)
            return future
        kept = self._cache.get(key) if self._cache is not None and key is not None else None
        if kept is not None:
            future.set_result(kept)
            return future
        self.start()
        task = _Task(job, texts, key, future)
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool is closed")
            broken = self._broken
            self._open.add(task)
        future.add_done_callback(lambda _: self._over(task))
        if broken is not None:
            _settle(future, broken)
        else:
            self._queue.put(task)
        return future

    async def verify(self, job: Job) -> Verdict:
        """Return a job's verdict; cancelling the awaiting task ends the worker.

        Raises:
            RagctxError: For input that cannot be judged.
        """
        future = await asyncio.to_thread(self.submit, job)
        return await asyncio.wrap_future(future)

    def map(self, jobs: Iterable[Job]) -> Iterator[Verdict]:
        """Yield the verdicts of jobs in their order.

        Raises:
            RagctxError: For the first job whose input cannot be judged.
        """
        with contextlib.closing(self.outcomes(jobs)) as outcomes:
            for outcome in outcomes:
                yield outcome.result()

    def outcomes(self, jobs: Iterable[Job], *, ordered: bool = True) -> Generator[Outcome, None, None]:
        """Yield what became of each job, in their order or as they end.

        Jobs are taken from `jobs` a few ahead of the workers, so that it may be a generator of any length. Closing the
        iterator early cancels what was handed in.
        """
        coming = enumerate(jobs)
        waiting: collections.deque[tuple[int, Job, Future[Verdict]]] = collections.deque()
        try:
            while True:
                for index, job in itertools.islice(coming, 2 * self.workers - len(waiting)):
                    waiting.append((index, job, self.submit(job)))
                if not waiting:
                    return
                if not ordered:
                    wait([future for _, _, future in waiting], return_when=FIRST_COMPLETED)
                    waiting.rotate(-next(n for n, (_, _, future) in enumerate(waiting) if future.done()))
                index, job, future = waiting[0]
                outcome = _outcome(index, job, future)
                waiting.popleft()
                yield outcome
        finally:
            for _, _, future in waiting:
                future.cancel()

    # --- opening and closing ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the workers; handing in the first job does it too."""
        with self._lock:
            if self._threads or self._closed:
                return
            self._slots = [self._new_slot(number) for number in range(self.workers)]
            self._threads = [
                threading.Thread(target=self._drive, args=(slot,), name=f"ragctx-slot-{number}", daemon=True)
                for number, slot in enumerate(self._slots)
            ]
        _OPEN_POOLS.add(self)
        for thread in self._threads:
            thread.start()

    def close(self, *, cancel: bool = False) -> None:
        """End the pool after the jobs it was given, or at once; no process of it is left then."""
        if not cancel:
            with self._lock:
                pending = [task.future for task in self._open]
            wait(pending)
        with self._lock:
            self._closed = True
            pending = [task.future for task in self._open]
        for future in pending:
            future.cancel()
        for slot in self._slots:
            slot.close()
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []
        self._after_close()
        _OPEN_POOLS.discard(self)

    def _after_close(self) -> None:  # noqa: B027 - nothing to give back is the common case
        """Give back what the slots shared."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close(cancel=kind is not None)
        except BaseException:
            self.close(cancel=True)
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close, cancel=kind is not None)

    # --- a slot's thread --------------------------------------------------------------------------------------

    def _drive(self, slot: Slot) -> None:
        while True:
            try:
                slot.ready()
            except WorkerLost:
                if self._closed:
                    return
                continue
            except RagctxError as error:
                self._unusable(error)
                return
            task = self._queue.get()
            if task is None:
                return
            if not task.future.done():
                self._attempt(slot, task)

    def _unusable(self, error: RagctxError) -> None:
        """Count a slot out; with the last one go the jobs that wait."""
        with self._lock:
            self._usable -= 1
            if self._usable:
                return
            self._broken = error
            waiting = [task.future for task in self._open]
        for future in waiting:
            _settle(future, error)

    def _attempt(self, slot: Slot, task: _Task) -> None:
        ticket = next(self._tickets)
        with self._lock:
            task.attempts += 1
            task.runs = (slot, ticket)
        try:
            # A cancellation from here on interrupts the run, one before is seen now.
            if task.future.cancelled():
                return
            answer = slot.run(ticket, task.job, task.texts)
        except WorkerLost as lost:
            if task.future.cancelled():
                return
            if task.attempts < ATTEMPTS and not self._closed:
                self._queue.put(task)
                return
            answer = {"verdict": crash_verdict(str(lost), task.job).to_json()}
        except Exception as error:  # not only ours: a caller must not wait for ever for a mistake of ours
            _settle(task.future, error)
            return
        finally:
            with self._lock:
                task.runs = None
        self._answered(task, answer)

    def _answered(self, task: _Task, answer: Mapping[str, Any]) -> None:
        try:
            if "error" in answer:
                _settle(task.future, RagctxError(**answer["error"]))
                return
            verdict = Verdict.from_json(answer["verdict"])
        except (KeyError, TypeError, ValueError) as error:
            _settle(task.future, RagctxError(f"a worker's answer cannot be read: {error}"))
            return
        if self._cache is not None and task.key is not None:
            self._cache.put(task.key, verdict)
        _settle(task.future, verdict)

    def _over(self, task: _Task) -> None:
        """Forget a task whose future has a result, or was cancelled."""
        with self._lock:
            self._open.discard(task)
            runs = task.runs
        if task.future.cancelled():
            # Tells those who wait in concurrent.futures.wait and as_completed.
            task.future.set_running_or_notify_cancel()
            if runs is not None:
                slot, ticket = runs
                slot.interrupt(ticket)


def _settle(future: Future[Verdict], result: Verdict | Exception) -> None:
    """Give a future its result unless it was cancelled meanwhile."""
    with contextlib.suppress(InvalidStateError):
        if isinstance(result, Verdict):
            future.set_result(result)
        else:
            future.set_exception(result)


def _outcome(index: int, job: Job, future: Future[Verdict]) -> Outcome:
    try:
        return Outcome(index, job, future.result())
    except RagctxError as error:
        return Outcome(index, job, None, error)


def crash_verdict(how: str, job: Job) -> Verdict:
    """Return the verdict of a candidate whose worker died each time."""
    message = f"the worker died {ATTEMPTS} times: {how}"
    stages = tuple(
        StageResult(stage, Status.FAILED, message)
        if stage is Stage.PARSE
        else StageResult(stage, Status.SKIPPED, "ended at parse")
        for stage in LADDER
    )
    return Verdict(
        Stage.PARSE,
        FailureKind.CRASH,
        False,
        stages,
        message=message,
        explanation=failures.explanation(FailureKind.CRASH),
        notes=("the stages are not known: nothing reported how far it got",),
        targets=job.options.targets,
    )


_OPEN_POOLS: weakref.WeakSet[VerifyPool] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for pool in list(_OPEN_POOLS):
        pool.close(cancel=True)


def open_pool(
    workers: int | None = None,
    *,
    ray: str | None = None,
    pin: bool = False,
    judge: str | Judge = DEFAULT_JUDGE,
    cache: VerdictCache | None = None,
    expect: Job | None = None,
    folder: Path | None = None,
) -> VerifyPool:
    """Return a pool over this machine's processes, or over a Ray cluster.

    Args:
        workers: Jobs at a time; one a core (local) or a CPU of the cluster (Ray) by default.
        ray: Address of a Ray cluster, `auto` for the one this machine belongs to, `local` for one of its own.
        pin: Whether each local worker keeps to one core, with all it starts.
        judge: What is called for a job.
        cache: Where verdicts are looked up and kept.
        expect: A job like those to come: workers prepare for its workload and options ahead.
        folder: Where local workers have their temporary files; the system's by default.

    Raises:
        RagctxError: If Ray is not installed or the cluster does not answer.
    """
    if ray is not None:
        from ragctx.verify.pool_ray import RayPool

        return RayPool(ray, workers, judge=judge, cache=cache, expect=expect)
    from ragctx.verify.pool_local import LocalPool

    return LocalPool(workers, pin=pin, judge=judge, cache=cache, expect=expect, folder=folder)
