"""Which worker of a loader runs some code."""
from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_local = threading.local()


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker this is. `seed`: what its random generators were seeded with at its start."""
    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """The worker that runs this code; None where the loader is read.

    >>> from whet.utils.data import get_worker_info
    >>> get_worker_info() is None
    True
    """
    return getattr(_local, "info", None)


def set_worker_info(info: WorkerInfo) -> None:
    """This thread is that worker from now on."""
    _local.info = info


def set_generator(generator: Any) -> None:
    """This thread's worker draws from that generator from now on, where it asks for its own."""
    _local.generator = generator


def own_generator() -> Any:
    """The generator of the worker that is this thread; None elsewhere."""
    return getattr(_local, "generator", None)


def collate_in(room: Callable[[tuple[int, ...], np.dtype[Any]], np.ndarray | None]) -> None:
    """Batches that this thread collates may lie where `room` says."""
    _local.room = room


def room_for(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray | None:
    """Memory that a batch collated here should lie in, if there is any."""
    room = getattr(_local, "room", None)
    return None if room is None else room(shape, dtype)
