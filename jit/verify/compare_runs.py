"""Compares a run that was recorded again with the recording that might have been replayed."""
from typing import Any

from ..refusals.recording_errors import Refused
from . import recheck
from .program_check import ProgramCheck


def compare(session: Any, found: Any, r: Any) -> bool:
    """Raise Refused where a run did something else than recording `r`, or its program gives other
    bits. Was the program compared with the run?"""
    found.nothing_escaped()
    found.account()
    rec = session.rec
    if found.sharing() != r.guards.shared or found.places() != r.guards.places:
        # The steps read differently: values are fewer, or more.
        return False
    was = recheck.WholeRun.of(r)
    sources = dict(zip(found.outside, map(found.source_of, rec.outside.values())))
    now = recheck.WholeRun(rec.nodes, rec.values.arrays, sources, found.effects, found.positions)
    difference = recheck.difference(was, now)
    if difference is recheck.OTHER_WAY:
        return False
    if difference is not None:
        raise Refused(f"it {difference}")
    here, there = was.numbers(now), now.numbers(was)
    values = {here[n]: n for n in found.values}
    early = session.early
    if early is not None and early.is_due:
        early.compare(there, values)
        return True
    if rec.originals.are_lost or not r.lock.acquire(False):
        return False
    try:
        outside = [there[n] for n in r.program.outside]
        check = ProgramCheck(session.subject, rec, r.recorded.overlaps, r.program, outside)
        check.run(found.draws, values)
        return True
    finally:
        r.lock.release()
