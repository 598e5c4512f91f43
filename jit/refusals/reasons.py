"""The reasons why a call is not replayed, in the users' terms: what was done, at which of their
lines, and what to write instead.

A `Reason` is carried by an exception (`Refused`, `Unwatchable`, `Miss`) or handed to
`Recorder.refuse`. One kind of thing that is done is one class, which says what to write instead.
What the function reaches has a name only when all of it is known: `named` gives it one.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import user_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..guards.places import Change
    from ..guards.signature import Key
    from .user_names import Found


class Reason:
    """`what` was done; `where`: the line that did it, or ""; `instead`: what to write, or ""."""
    instead = ""

    def __init__(self, what: str, where: str = "") -> None:
        self.what, self.where = what, where

    @staticmethod
    def of(x: object) -> Reason:
        """A reason as it is; one of a text."""
        return x if isinstance(x, Reason) else Reason(str(x))

    def at(self, where: str) -> Reason:
        """This reason, with a line if none was known."""
        self.where = self.where or where
        return self

    def left(self, world: Found, change: Change) -> Reason:
        """This reason where what cannot be made again is no result, but left in Python's state."""
        return self

    def within(self, world: Found) -> Reason:
        """This reason, with the name that a world has for what it speaks of."""
        return self

    def named(self, fn: Callable[..., Any], key: Key) -> Reason:
        """This reason, with the names by which a function of arguments like `key` knows what it
        speaks of."""
        return self

    def same(self) -> tuple[Any, ...]:
        """What makes another reason the same one."""
        return self.what, self.where

    def __str__(self) -> str:
        return f"{self.what} ({self.where})" if self.where else self.what

    def full(self) -> str:
        """All of it, the way out on a line of its own."""
        return f"{self}.\n  {self.instead}" if self.instead else str(self)


class Explained(Exception):
    """An exception that carries a reason."""

    def __init__(self, reason: object = "") -> None:
        super().__init__(reason)
        self.reason = Reason.of(reason)

    def __str__(self) -> str:
        return str(self.reason)


# ---- why tracing does not pay --------------------------------------------------------------------
class Varies(Reason):
    """Calls seldom have arguments of a kind that came before."""
    instead = "Pad to fewer sizes, or trace a part of the function whose arguments look alike."


class Others(Reason):
    """Calls never have the arguments of one before, though their tensors are of one size."""
    instead = "Pass numbers that change as tensors; explain() shows what is another each time."


class Unfit(Reason):
    """Recordings seldom or never fit; `miss`: what most calls missed, if it is known."""
    instead = "Pass values that change as tensors, and keep them out of `if`; explain() lists them."

    def __init__(self, what: str, miss: Reason | None) -> None:
        known = miss or Reason("what the function reads was another each time")
        super().__init__(f"{what}: {known.what}", known.where)
        self.instead = known.instead or self.instead


class Little(Reason):
    """A replay is no shorter than an eager call."""
    instead = "Trace a larger function, best a whole step: a replay of little work is no faster."


# ---- kinds of reasons ----------------------------------------------------------------------------
class Calls(Reason):
    """It calls something that does more than compute."""
    instead = "Call it outside of the traced function, and pass what it gives as an argument."

    def __init__(self, name: str, holds: bool = False) -> None:
        super().__init__(
            f"it holds {name}, or passes it on, which does more than compute" if holds
            else f"it calls {name}")


class Draws(Reason):
    """It draws random numbers that are not ours."""
    instead = ("Draw before the call and pass the numbers as a tensor, or use whet's own random "
               "functions: replays draw anew.")


class Foreign(Reason):
    """It uses a tensor that the recorder has not seen being made."""
    instead = ("Make it before the call and pass it as an argument, or copy the numbers by "
               "whet.tensor(...).")

    def __init__(self, shape: Iterable[int], made: tuple[str, str] | None = None) -> None:
        """`made`: (by what function, at which line), if that is known."""
        how, where = made or ("something that the recorder cannot see", "")
        super().__init__(f"it uses a tensor of shape {list(shape)} that {how} made", where)

    @classmethod
    def returned(cls) -> Foreign:
        """It gives such a tensor back."""
        out = cls(())
        out.what, out.instead = ("it returns a tensor around a NumPy array",
                                 "Return a copy of it: x.clone().")
        return out


class OlderGraph(Reason):
    """Gradients flow through what the recorder has not seen being computed."""
    instead = "Trace what computes the loss, too: a trace takes gradients of what it has recorded."

    def __init__(self, shape: Iterable[int]) -> None:
        super().__init__(f"its gradients need a tensor of shape {list(shape)} of an older graph")


class OnDevice(Reason):
    """It would be exported with tensors on a device."""
    instead = "Export it with the module and the example arguments on the CPU (.cpu())."

    def __init__(self, index: int) -> None:
        super().__init__(f"it uses a tensor on 'cuda:{index}', and what is exported computes on "
                         "the CPU")


class SeveralDevices(Reason):
    """It works with tensors on more than one device."""
    instead = "Trace what is done on each device by itself."

    def __init__(self) -> None:
        super().__init__("it uses tensors on several devices, and a recording is of one")


class HandsOut(Reason):
    """NumPy gets the memory of a tensor."""
    instead = (
        "Return the tensor and call .numpy() on the result, or read single numbers with .item() "
        "or .tolist().")


class OfNumPy(Reason):
    """It does something with a NumPy array that a trace cannot follow."""
    instead = (
        "Pass a tensor of it (whet.from_numpy), or do this part of the work outside of the traced "
        "function.")


class TooManyNumbers(Reason):
    """More numbers become Python's than a replay would compare."""
    instead = "Return the tensor and read its numbers after the call."


class Returns(Reason):
    """It returns what a replay cannot make."""
    instead = "Return tensors, numbers, texts, and tuples, lists, dicts or objects of them."

    def __init__(self, kind: str) -> None:
        super().__init__(f"it returns {kind}")
        self.kind = kind

    def left(self, world: Found, change: Change) -> Reason:
        return Changes(world, change, f"which becomes {self.kind}")


class Keeps(Reason):
    """A tensor that it made is alive after the call, and nothing says where."""
    instead = ("Return it, or keep it as an attribute of an object or in a list or dict that the "
               "function reaches.")


class PythonBackward(Reason):
    """Gradients flow through the user's Python."""
    instead = ("Trace the function that calls backward(), with the backward in it, and return what "
               "has no graph any more: loss.detach(), and no retain_graph=True.")


class Memory(Reason):
    """It asks for, or changes, what a tensor from outside is."""
    instead = (
        "Work on a copy that the function makes (x.clone()), or do this outside of the traced "
        "function.")


class InPlaceShape(Reason):
    """It changes the shape of a tensor from outside in place."""
    instead = "Use the form that gives a new tensor (x.reshape(...), x.transpose(...))."


class OtherWays(Reason):
    """What Python goes on from is another at each call; `last`: what it was the last time."""
    instead = "Keep what varies in tensors (whet.where, whet.cond), or read it after the call."

    def __init__(self, times: int, last: Reason | None) -> None:
        super().__init__(
            f"it was recorded {times} times for arguments of this kind, and each time something "
            f"that it read was another: {last}")
        self.instead = last and last.instead or self.instead


class Settings(Reason):
    """It asks for or changes what holds for the whole process."""
    instead = "Do this outside of the traced function."


class Prints(Reason):
    """It prints or logs what a replay cannot say again."""
    instead = (
        "Print and log texts, numbers and tensors, to the streams that there were before the call.")

    def __init__(self, what: str, instead: str | None = None) -> None:
        super().__init__(what)
        self.instead = instead or self.instead


class Raises(Reason):
    """An operation raises an error."""
    instead = ("Ask before whether it will (sizes, ranges), or catch the error outside of the "
               "traced function.")


class Caches(Reason):
    """It goes by what a functools cache holds."""
    instead = (
        "Call the cached function outside, or before the first traced call, and give it numbers "
        "and texts.")


class Rewrites(Reason):
    """A rewrite that was asked for changes too much."""
    instead = "Leave it out of jit.trace(rewrites=[...]) for this function."


class Inspects(Reason):
    """It asks how it is run."""
    instead = "Do this outside of the traced function."


class Branches(Reason):
    """Python goes on from numbers of tensors, and they are others."""
    instead = "Branch inside the graph (whet.where, whet.cond), or read the number after the call."


class Shapes(Reason):
    """A shape depends on numbers of tensors, and is another."""
    instead = "Keep the shape: multiply by a mask, or choose by whet.where."


class Large(Reason):
    """It needs more memory than recording may take."""
    instead = "Trace a part of the function."


class TooMuch(Reason):
    """It reaches too many objects."""
    instead = (
        "Keep large tables of objects where the function does not reach them, or make tensors of "
        "them.")


class WritesFirst(Reason):
    """It writes to large tensors from outside before something that may turn out otherwise."""
    instead = "Read the value before the writes, or after the call."


class Drifts(Reason):
    """It did something else though nothing that is compared has changed."""
    instead = "Pass what it depends on as an argument."


# ---- what the function reaches -------------------------------------------------------------------
class Reaches(Reason):
    """It can read something that cannot be compared later. `world`: in which it was found, as
    far as that was searched; `what` follows the name."""
    instead = (
        "Keep it where the function does not reach it, or pass what the function needs of it as "
        "an argument.")
    OF_SETS = "Use a dict or a list, which have an order."
    OF_ARRAYS = "Make it a tensor: whet.from_numpy(...)."
    OF_GRADIENTS = "Leave sparse=True out: a replayed step is quicker with dense gradients."
    OF_ITERATORS = "Call next() outside of the traced function, and pass what it gives."

    def __init__(self, what: str, x: Any = None, world: Found | None = None,
                 instead: str | None = None) -> None:
        super().__init__(f"it can read {what}")
        self.kind, self.x, self.world = what, x, world
        if instead is not None:
            self.instead = instead

    def within(self, world: Found) -> Reason:
        return Reaches(self.kind, self.x, world, self.instead)

    def named(self, fn: Callable[..., Any], key: Key) -> Reason:
        if self.world is None:
            return self
        name, where = user_names.place_of(self.world, fn, key, self.x)
        out = Reaches(f"`{name}`, {self.kind}" if name else self.kind, instead=self.instead)
        return out.at(where)


class Changed(Reason):
    """Something that the function reads is another than when it was recorded; `now`: what it is,
    if that is no matter of its value."""
    instead = "Pass what varies as an argument, numbers best as tensors."
    GROWS = "Read what grows outside of the traced function, or only append to it inside."

    def __init__(self, world: Found, change: Change, so: str = "is another") -> None:
        super().__init__("something that it reads has changed")
        self.so = so
        self.world, self.change = world, change.bare()
        self.before, self.now = _value(change.before), _value(change.now)

    def same(self) -> tuple[Any, ...]:
        return type(self.change.place), id(self.change.owner), str(self.change.name)

    def named(self, fn: Callable[..., Any], key: Key) -> Reason:
        name, where = user_names.of_change(self.world, fn, key, self.change, reads=True)
        if self.change.index is None:
            out = Reason(
                f"{name} holds more, or less, than it did"
                if not self.change.place.says_itself else name, where)
            out.instead = self.GROWS
            return out
        out = Reason(
            f"{name} is {self.now}, not {self.before}"
            if self.now != self.before else f"{name} {self.so}", where)
        out.instead = self.instead
        return out


class Changes(Changed):
    """It changes something in Python's state that a replay cannot."""
    instead = (
        "Return it instead, or keep it as a tensor, a number, a text, or a list or dict of such.")

    def __init__(self, world: Found, change: Change, why: str = "") -> None:
        super().__init__(world, change)
        self.what, self.why = "it changes Python's state", why

    def named(self, fn: Callable[..., Any], key: Key) -> Reason:
        name, where = user_names.of_change(self.world, fn, key, self.change, reads=False)
        out = Reason(f"it changes Python's state: {name}" + (f", {self.why}" if self.why else ""),
                     where)
        out.instead = self.instead
        return out


def _value(x: Any) -> str:
    """A value in a few words, which keeps nothing alive."""
    return user_names.value(x)


class Replaced(Reason):
    """A tensor that the function reaches is another, or not what it was: `what` follows its
    name."""

    def __init__(self, tensor: Any, what: str, world: Found) -> None:
        super().__init__(f"a tensor from outside {what}")
        self.tensor, self.change, self.world = tensor, what, world

    def same(self) -> tuple[Any, ...]:
        return id(self.tensor), self.change

    def named(self, fn: Callable[..., Any], key: Key) -> Reason:
        name, where = user_names.place_of(self.world, fn, key, self.tensor)
        out = Reason(f"`{name}` {self.change}", where)
        out.instead = self.instead
        return out if name else self


class OtherMemory(Replaced):
    """It gives a tensor from outside the memory of another one."""
    instead = "Write to it: `p.data.copy_(new)`, or `p.copy_(new)` under `no_grad()`."
