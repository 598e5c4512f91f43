"""What a run of the whole suite does only a part of: another part every day, and all of it in a few
days.

    @pytest.mark.drawn(3)               a run of the whole suite takes a third of a test's cases
    @pytest.mark.parametrize(...)

Where files or folders are named, all of their tests run: so does whoever works on a room meet all
that is said of it. `make test-all` runs everything. `WHET_DRAW` is the number that decides, a day's
unless it is given. A run says it at its end, so that the same part can be run again.
"""
import datetime
import hashlib
import os


def decide():
    """Have this run and the processes that it starts take a part, unless somebody said which."""
    os.environ.setdefault("WHET_DRAW", str(datetime.date.today().toordinal()))


def draw():
    """The number that decides; None where all is run."""
    said = os.environ.get("WHET_DRAW", "all")
    return None if said == "all" else int(said)


def part(things, of, name=str):
    """One of so many parts of some things, in their order. The parts of days that follow each other
    have all of them. Things are dealt out by their names: neighbours often are much alike."""
    if draw() is None:
        return list(things)
    dealt = sorted(things, key=lambda thing: hashlib.sha256(name(thing).encode()).digest())
    taken = {name(thing) for thing in dealt[draw() % of::of]}
    return [thing for thing in things if name(thing) in taken]


def kinds_of_each(things, kinds):
    """The kinds in which each thing is tried: another one every day."""
    if draw() is None:
        return dict.fromkeys(things, list(kinds))
    return {thing: [kinds[(k + draw()) % len(kinds)]] for k, thing in enumerate(things)}


def chosen(items):
    """The tests of a run: of those marked as `drawn`, a part of the cases of each."""
    cases = {}
    for item in items:
        if mark := item.get_closest_marker("drawn"):
            cases.setdefault((item.nodeid.partition("[")[0], mark.args[0]), []).append(item)
    left_out = {item.nodeid for (_, of), group in cases.items()
                for item in set(group) - set(part(group, of, lambda item: item.nodeid))}
    return [item for item in items if item.nodeid not in left_out]
