"""Processes that run one function with their number, and what went wrong in the first that did."""
from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from typing import Any


class ProcessException(Exception):
    """A process failed. `error_index`: its number; `error_pid`: what the system calls it."""

    def __init__(self, message: str, error_index: int, error_pid: int) -> None:
        super().__init__(message)
        self.msg, self.error_index, self.pid = message, error_index, error_pid

    @property
    def error_pid(self) -> int:
        return self.pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process ended by an exception, whose traceback is the message."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal or with an exit code."""

    def __init__(self, message: str, error_index: int, error_pid: int, exit_code: int,
                 signal_name: str | None = None) -> None:
        super().__init__(message, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def how_it_ended(exit_code: int) -> str:
    """The end of a process in words, with what is known of the reason."""
    if exit_code >= 0:
        return f"exited with code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    reasons = {"SIGKILL": " (the system does this where memory runs out)",
               "SIGBUS": " (shared memory may have run out)",
               "SIGSEGV": " (native code used memory that is not there)"}
    return f"was ended by {name}{reasons.get(name, '')}"


def _run(fn: Callable[..., Any], i: int, args: tuple[Any, ...], errors: str) -> None:
    """What a process does: the function; a traceback goes into the file `errors`."""
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        with open(errors, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that were started together. `join` waits for them."""

    def __init__(self, processes: list[BaseProcess], error_files: list[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self) -> list[int]:
        """What the system calls the processes."""
        return [int(p.pid or 0) for p in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one process fails, all have ended, or the time is over; have all ended?

        Where one fails the others are stopped (after `grace_period` seconds, if they have not
        ended by then), and its error is raised here.
        """
        if not self.sentinels:
            return True
        done = connection.wait(list(self.sentinels), timeout)
        failed = None
        for sentinel in done:
            i = self.sentinels.pop(sentinel)      # type: ignore[arg-type]
            self.processes[i].join()
            if self.processes[i].exitcode and failed is None:
                failed = i
        if failed is None:
            if not self.sentinels:
                self._remove_files()
            return not self.sentinels
        self._stop(grace_period)
        self._raise(failed)
        return False

    def _stop(self, grace_period: float | None) -> None:
        end = time.monotonic() + (grace_period or 0)
        for p in self.processes:
            p.join(max(0.0, end - time.monotonic()))
        for p in self.processes:
            if p.is_alive():
                p.terminate()
        for p in self.processes:
            p.join(5)
            if p.is_alive():
                p.kill()
                p.join()

    def _raise(self, i: int) -> None:
        p, file = self.processes[i], self.error_files[i]
        try:
            if os.path.getsize(file):
                with open(file, "rb") as f:
                    text = pickle.load(f)
                raise ProcessRaisedException(f"\n\n-- Process {i} ended with this error:\n{text}",
                                             i, int(p.pid or 0))
        finally:
            self._remove_files()
        code = int(p.exitcode or 0)
        raise ProcessExitedException(f"process {i} {how_it_ended(code)}", i, int(p.pid or 0), code,
                                     signal.Signals(-code).name if code < 0 else None)

    def _remove_files(self) -> None:
        for file in self.error_files:
            if os.path.exists(file):
                os.unlink(file)


def start_processes(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1,
                    join: bool = True, daemon: bool = False,
                    start_method: str = "spawn") -> ProcessContext | None:
    """Run `fn(i, *args)` in processes 0 .. nprocs - 1.

    With `join=True` this returns when all have ended, and raises the error of the first that
    fails; otherwise it returns a `ProcessContext` to wait with.
    """
    context: Any = multiprocessing.get_context(start_method)
    processes, files = [], []
    for i in range(nprocs):
        handle, path = tempfile.mkstemp(prefix="whet-process-", suffix=".error")
        os.close(handle)
        process = context.Process(target=_run, args=(fn, i, args, path), daemon=daemon)
        process.start()
        processes.append(process)
        files.append(path)
    started = ProcessContext(processes, files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True,
          daemon: bool = False, start_method: str = "spawn") -> ProcessContext | None:
    """`start_processes` with fresh interpreters: `fn` must be a function of a module."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
