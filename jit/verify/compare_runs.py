"""A call that is recorded again: its run and the recording that it might have replayed."""
from typing import Any

from ..capture.refused import Refused
from . import recheck
from .program_check import ProgramCheck


def compare(session: Any, found: Any, r: Any) -> None:
    """Raise Refused where a run did something else than recording `r`, or its program gives other
    bits."""
    found.nothing_escaped()
    found.account()
    rec = session.rec
    if found.sharing() != r.guards.shared:
        # The steps read differently: values are fewer, or more.
        return
    was = recheck.Account.of(r)
    sources = [found.source_of(t) for t in rec.outside.values()]
    now = recheck.Account(
        rec.nodes,
        rec.arrays,
        found.outside,
        sources,
        found.result,
        found.grads,
        found.left,
        found.bumps,
        found.positions,
    )
    difference = recheck.difference(was, now)
    if difference is recheck.OTHER_WAY:
        return
    if difference is not None:
        raise Refused(f"it {difference}")
    if r.lock.acquire(False):
        try:
            here, there = was.numbers(now), now.numbers(was)
            check = ProgramCheck(
                session.subject,
                rec,
                r.recorded.overlaps,
                r.program,
                [there[n] for n in r.program.outside],
            )
            check.run(found.draws, {here[n]: n for n in found.values})
        finally:
            r.lock.release()
