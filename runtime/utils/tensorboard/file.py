"""The file that events are appended to."""
import itertools
import os
import socket
import threading
import time
import weakref

from . import wire

VERSION = "brain.Event:2"
_next_file = itertools.count().__next__


class FileWriter:
    """Appends events to a new file in a folder.

    Events are held until there are `max_queue` of them or `flush_secs` have passed since the file
    was last written, and until `flush`, `close` or the end of the process. Threads may share one.
    """

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self.log_dir = os.fspath(log_dir)
        os.makedirs(self.log_dir, exist_ok=True)
        name = (f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}."
                f"{os.getpid()}.{_next_file()}{filename_suffix}")
        self.path = os.path.join(self.log_dir, name)
        self._events: list[bytes] = []
        self._lock = threading.Lock()
        self._max_queue, self._flush_secs = max_queue, flush_secs
        self._last = time.monotonic()
        self._at_exit = weakref.finalize(self, _append, self.path, self._events)
        self.add_event(wire.block(3, VERSION))
        self.flush()

    def get_logdir(self):
        """The folder of the file."""
        return self.log_dir

    def add_event(self, what, step=None, walltime=None):
        """Appends an event: the field of what happened, with its time and its step."""
        event = wire.double(1, time.time() if walltime is None else walltime)
        if step is not None:
            event += wire.whole(2, step)
        with self._lock:
            self._events.append(wire.record(event + what))
            late = time.monotonic() - self._last > self._flush_secs
            if late or len(self._events) > self._max_queue:
                self._write()

    def add_summary(self, summary, global_step=None, walltime=None):
        """Appends a summary, made by a function of `whet.utils.tensorboard.summary`."""
        self.add_event(wire.block(5, summary), global_step, walltime)

    def flush(self):
        """Writes what is held."""
        with self._lock:
            self._write()

    def close(self):
        """Writes what is held. A later event opens the file again."""
        self.flush()

    def reopen(self):
        """The file is opened for each write, so there is nothing to do."""

    def _write(self):
        _append(self.path, self._events)
        self._last = time.monotonic()


def _append(path, events):
    if events:
        with open(path, "ab") as file:
            file.write(b"".join(events))
        events.clear()
