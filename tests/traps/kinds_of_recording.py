"""How the traced runs of traps are recorded: as for users, or in a way that users seldom meet."""
import contextlib
from unittest import mock

from whet.jit.capture import call_search
from whet.jit.guards.outside_state import OutsideSearch
from whet.jit.guards.visitors import Unwatchable
from whet.jit.program.value_layouts import Values
from whet.jit.refusals.reasons import TooMuch


def given_up():
    """A run is given up at the first thing that it computes: there are no addresses left for what
    stands for it. It goes on as eager."""
    def full(*_):
        raise MemoryError("no addresses")
    return mock.patch.object(Values, "made", full)


def little_read():
    """Only code that ran is read, as where something within reach of each function cannot be
    compared."""
    def search(fn, others, loose, numpy, ran):
        if ran is None:
            raise Unwatchable(TooMuch("it reaches too much"))
        return OutsideSearch(fn, others, loose, numpy, ran)
    return mock.patch.object(call_search, "OutsideSearch", search)


SELDOM = {"given_up": given_up, "little_read": little_read}
KINDS = {"usual": contextlib.nullcontext, **SELDOM}
