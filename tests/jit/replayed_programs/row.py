"""Programs by what they show, as rows of the table in `docs/replays.md`."""
import types

ROWS: dict = {}
Box = types.SimpleNamespace
CALLS = 24                       # of each program


def row(what, refused=None):
    """Register a program: it gives the function, and the arguments of call i. `refused`: a part
    of the warning where it runs eagerly."""
    def register(build):
        ROWS[what] = build, refused
        return build
    return register
