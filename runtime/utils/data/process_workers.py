"""Workers that are processes: Python code runs side by side in them, and what they crash of does
not crash the reader.

A worker ends when the reader's end of its connection is closed, which the system does even where
the reader is killed. Batches come through shared memory (see `shared_batches.py`), which has no
name, so that nothing of it is left behind.
"""
from __future__ import annotations

import os
import pickle
import queue
import signal
import threading
import time
import warnings
import weakref
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

import whet

from ...multiprocessing.spawning import how_it_ended
from .shared_batches import Inbox, Outbox, Parcel
from .worker import Answer, Job, Request, Worker, shortened, traceback_of
from .worker_info import collate_in

# seconds that a worker may go on for after it is no longer wanted
GRACE = 1.0


class Ask(NamedTuple):
    """To a worker: make this batch; these blocks are free."""
    request: Request
    returned: list[int]


class Made(NamedTuple):
    """From a worker: the batch of a request."""
    epoch: int
    number: int
    parcel: Parcel


class Failed(NamedTuple):
    """From a worker: the error, where it can be pickled, and its traceback as text."""
    epoch: int
    number: int
    error: bytes | None
    kind: str
    text: str


# the ends of connections that readers have: a forked process has copies of them, which would keep
# a worker from seeing that its reader is gone
_ends: weakref.WeakSet[Connection] = weakref.WeakSet()


def _close_copies() -> None:
    for end in list(_ends):
        end.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_copies)


class ProcessWorkers:
    """Processes that answer requests. They end when this object is freed."""

    def __init__(self, job: Job, context: Any) -> None:
        self.count = job.workers
        self.processes: list[BaseProcess] = []
        self.inboxes: list[Inbox] = []
        # what each worker was asked and has not answered, oldest first
        self.asked: list[dict[tuple[int, int], Request]] = [{} for _ in range(job.workers)]
        self.ready: list[Answer] = []
        for i in range(job.workers):
            here, there = context.Pipe()
            _ends.add(here)
            process = context.Process(target=_work, args=(job, i, there, os.getpid()),
                                      name=f"DataLoader worker {i}", daemon=True)
            with warnings.catch_warnings():
                # our threads are parked at a fork, and the child has none of them
                warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
                process.start()
            there.close()
            self.processes.append(process)
            self.inboxes.append(Inbox(here))
        weakref.finalize(self, _dismiss, self.processes, self.inboxes, os.getpid())

    def ask(self, worker: int, request: Request) -> None:
        """Have a worker make a batch."""
        self.asked[worker][request.epoch, request.number] = request
        inbox = self.inboxes[worker]
        try:
            inbox.connection.send(Ask(request, inbox.take_returned()))
        except OSError:
            # it is gone, which `take` finds and says
            pass

    def take(self, timeout: float | None) -> Answer | None:
        """The next answer of any worker; None where there is none in time."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self.ready:
            left = None if end is None else max(0.0, end - time.monotonic())
            sources = [x.connection for x in self.inboxes] + [p.sentinel for p in self.processes]
            signs = set(connection.wait(sources, left))
            for i, inbox in enumerate(self.inboxes):
                if inbox.connection in signs:
                    self._read(i)
            if not self.ready:
                for i, process in enumerate(self.processes):
                    if process.sentinel in signs:
                        self._ended(i)
            if not self.ready and not signs:
                return None
        return self.ready.pop(0)

    def _read(self, i: int) -> None:
        """Take in what a worker has sent."""
        try:
            while (message := self.inboxes[i].receive()) is not None:
                self.asked[i].pop((message.epoch, message.number), None)
                self.ready.append(self._answer(i, message))
        except (EOFError, ConnectionResetError):
            self.processes[i].join(GRACE)
            self._ended(i)

    def _answer(self, i: int, message: Made | Failed) -> Answer:
        if isinstance(message, Made):
            return Answer(message.epoch, message.number, self.inboxes[i].unpack(message.parcel))
        error = None
        if message.error is not None:
            try:
                error = pickle.loads(message.error)
            except Exception:
                error = None
        if error is None:
            error = RuntimeError(f"{message.kind} in DataLoader worker {i}")
        if message.text:
            error.add_note(f"In the worker:\n{message.text}")
        return Answer(message.epoch, message.number, None, error)

    def _ended(self, i: int) -> None:
        """A worker has died: those waiting for its batches get an error that says why."""
        process = self.processes[i]
        process.join(GRACE)
        wanted = next(iter(self.asked[i].values()), None)
        doing = f" while it made the batch of {shortened(wanted.what)}" if wanted else ""
        raise RuntimeError(f"DataLoader worker {i} (pid {process.pid}) "
                           f"{how_it_ended(process.exitcode or 0)}{doing}")


def _dismiss(processes: list[BaseProcess], inboxes: list[Inbox], owner: int) -> None:
    """End the workers: first by closing their connections, then by force."""
    for inbox in inboxes:
        inbox.connection.close()
    if os.getpid() != owner:
        return
    end = time.monotonic() + 2 * GRACE
    for process in processes:
        process.join(max(0.0, end - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()


# ---- in the worker's process ---------------------------------------------------------------------
def _work(job: Job, i: int, there: Connection, reader: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)         # the reader decides what ends when
    whet.set_num_threads(1)
    outbox = Outbox(there, reader)
    requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(there, requests, outbox), daemon=True).start()
    collate_in(outbox.room)
    worker = Worker(job, i)
    while (request := requests.get()) is not None:
        try:
            there.send(_message(worker.answer(request), outbox))
        except OSError:
            return


def _listen(there: Connection, requests: queue.SimpleQueue[Request | None],
            outbox: Outbox) -> None:
    """Take in requests at once, so that the reader never waits to send one; end the process when
    the reader has closed its end or is gone."""
    try:
        while True:
            ask = there.recv()
            outbox.free.extend(ask.returned)
            requests.put(ask.request)
    except (EOFError, OSError):
        requests.put(None)
        time.sleep(GRACE)
        os._exit(0)


def _message(answer: Answer, outbox: Outbox) -> Made | Failed:
    error = answer.error
    if error is None:
        try:
            return Made(answer.epoch, answer.number, outbox.pack(answer.batch))
        except OSError:
            raise
        except Exception as e:
            error = e
    text = traceback_of(error) if error.__traceback__ is not None else ""
    try:
        pickled: bytes | None = pickle.dumps(error)
    except Exception:
        pickled = None
    return Failed(answer.epoch, answer.number, pickled, f"{type(error).__name__}: {error}", text)
