"""Modules in training mode: an export is of what a module does in eval mode."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from whet.ir.text import text

from .errors import ExportError
from .recording import Recorded

Attempt = Callable[[], tuple[Recorded | None, ExportError | None]]


def in_training(modules: Sequence[Any]) -> dict[str, Any]:
    """The modules in training mode among some and their parts, by name."""
    return {
        name or type(m).__name__: m
        for top in modules
        for name, m in top.named_modules()
        if m.training
    }


@contextlib.contextmanager
def eval_mode(modules: Sequence[Any]) -> Iterator[None]:
    """Inside, these modules are in eval mode."""
    for m in modules:
        m.training = False
    try:
        yield
    finally:
        for m in modules:
            m.training = True


def outcome_text(run: Recorded | None, error: ExportError | None) -> str:
    """What an export comes to, as a text to be compared."""
    return str(error) if run is None else f"{text(run.nodes)}\n{run.values}"


def refuse(attempt: Attempt, now: str, modules: Sequence[Any]) -> None:
    """Raise ExportError where modules in training mode do something else than in eval mode. `now`
    is what the export comes to as they are."""
    found = in_training(modules)
    everyone = list(found.values())
    with eval_mode(everyone):
        wanted = outcome_text(*attempt())
    if wanted == now:
        return
    for name, m in found.items():
        with eval_mode([x for x in everyone if x is not m]):
            if outcome_text(*attempt()) != wanted:
                raise ExportError(
                    f"module `{name}`, {type(m).__name__}, is in training mode, where it does not "
                    "do what it does in eval mode.\n  Call .eval() on the model before the export."
                )
    raise ExportError(
        "modules are in training mode, and do not do what they do in eval mode: "
        f"{', '.join(found)}.\n  Call .eval() on the model before the export."
    )
