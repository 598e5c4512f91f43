"""Workers that are threads of this process: nothing is pickled or copied. Native kernels, NumPy and
file reads leave the interpreter lock, so threads run side by side there and nowhere else."""
from __future__ import annotations

import queue
import threading
import weakref

from .worker import Answer, Job, Request, Worker


class ThreadWorkers:
    """Threads that answer requests. They end when this object is freed."""

    def __init__(self, job: Job) -> None:
        self.count = job.workers
        self.answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self.inboxes: list[queue.SimpleQueue[Request | None]] = []
        for i in range(job.workers):
            inbox: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
            self.inboxes.append(inbox)
            threading.Thread(target=_work, args=(job, i, inbox, self.answers), daemon=True,
                             name=f"DataLoader worker {i}").start()
        weakref.finalize(self, _dismiss, self.inboxes)

    def ask(self, worker: int, request: Request) -> None:
        """Have a worker make a batch."""
        self.inboxes[worker].put(request)

    def take(self, timeout: float | None) -> Answer | None:
        """The next answer of any worker; None where there is none in time."""
        try:
            return self.answers.get(timeout=timeout)
        except queue.Empty:
            return None


def _dismiss(inboxes: list[queue.SimpleQueue[Request | None]]) -> None:
    for inbox in inboxes:
        inbox.put(None)


def _work(job: Job, i: int, inbox: queue.SimpleQueue[Request | None],
          answers: queue.SimpleQueue[Answer]) -> None:
    worker = Worker(job, i)
    while (request := inbox.get()) is not None:
        answers.put(worker.answer(request))
