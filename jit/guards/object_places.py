"""Places of functions, classes and other objects that are no containers. See `places.py`."""
from __future__ import annotations

import abc
import functools
import operator
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from whet.cpu.object_layouts import field
from whet.passes.lower_llvm.calls.python_layouts import DICT_LENGTH, TYPE

from ..machine_code.cpython_layouts import holds, layouts, namespace, self_description
from ..machine_code.native_entry import MISSED
from ..machine_code.table_rows import ANY
from ..values import class_state
from ..values.instance_state import parts_of_partial
from . import spots
from .places import ABSENT, Check, Place, Single
from .spots import Spot

if TYPE_CHECKING:
    from ..refusals.user_names import Names

# what functions and classes say of themselves; of a class the first two are no entries of its dict
SAID = ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__",
        "__dataclass_fields__", "__match_args__")
NAMES = SAID[:2]
# what a class holds that is made from the rest, or that no code reads
ASIDE = frozenset((
    "__dict__", "__weakref__", "__doc__", "__module__", "__abstractmethods__", "_abc_impl",
    "__annotations__", "__parameters__", "__orig_bases__", "__dataclass_fields__",
    "__dataclass_params__", "__match_args__", "__static_attributes__", "__firstlineno__"))


# ---- classes -------------------------------------------------------------------------------------
class TypeOf(Place):
    """The class of an object: another can be given to it."""
    __slots__ = ()

    def __init__(self, owner: Any) -> None:
        super().__init__(owner, (type(owner),))

    def look(self) -> Sequence[Any] | None:
        return (type(self.owner),)

    @classmethod
    def check(cls, places: list[TypeOf]) -> Check:
        owners, held = [p.owner for p in places], [p.objects[0] for p in places]
        return lambda: all(map(operator.is_, map(type, owners), held))

    def restore(self) -> None:
        self.owner.__class__, = self.objects

    def say(self, owner: Any) -> str:
        return f"an attribute of a {type(owner).__qualname__} changed"

    def table(self, t: Any, objects: list[Any]) -> bool:
        t.word(t.id(self.owner) + TYPE, t.id(objects[0]))
        return True


class ClassBody(Place):
    """What a user class holds, how much that is, and its bases."""
    __slots__ = ("names",)
    can_be_set = True

    def __init__(self, owner: type) -> None:
        self.owner, self.names = owner, tuple([k for k in vars(owner) if k not in ASIDE])
        super().__init__(owner, self.look())

    def look(self) -> Sequence[Any]:
        held = vars(self.owner)
        return [*[held.get(k, ABSENT) for k in self.names], len(held), self.owner.__bases__]

    def found(self) -> Sequence[Any]:
        return self.objects[:-2]

    def name_of(self, i: int) -> Any:
        return self.names[i] if i < len(self.names) else None

    def spot(self, i: int) -> Spot | None:
        return spots.ClassAttribute(self.owner, self.names[i]) if i < len(self.names) else None

    def restore(self) -> None:
        for k, v in zip(self.names, self.objects):
            setattr(self.owner, k, v)

    def say(self, owner: Any) -> str:
        return f"`{owner.__qualname__}` changed"

    def table(self, t: Any, objects: list[Any]) -> bool:
        d, bases = namespace(self.owner), self.owner.__bases__
        at = holds(self.owner, bases)
        if not d or field(d, DICT_LENGTH) != len(d) or not at:
            return False
        for k, x in zip(self.names, objects):
            if x is not ANY:
                t.name(d, k, x)
        t.word(t.id(d) + DICT_LENGTH, len(d))
        t.word(t.id(self.owner) + at, t.id(bases))
        return True


class ClassAttribute(Single):
    """One attribute of a class."""
    __slots__ = ("name",)

    def __init__(self, owner: type, name: str) -> None:
        super().__init__(owner, (getattr(owner, name),))
        self.name = name

    def look(self) -> Sequence[Any] | None:
        return (getattr(self.owner, self.name, ABSENT),)

    def name_of(self, i: int) -> Any:
        return self.name

    def spot(self, i: int) -> Spot | None:
        return spots.ClassAttribute(self.owner, self.name)

    def restore(self) -> None:
        setattr(self.owner, self.name, *self.objects)

    def say(self, owner: Any) -> str:
        return f"`{owner.__qualname__}` changed"

    def table(self, t: Any, objects: list[Any]) -> bool:
        d = namespace(self.owner)
        if d is None or d.get(self.name, MISSED) is not objects[0]:
            return False
        t.name(d, self.name, objects[0])
        return True


class FrameworkState(Place):
    """The state that a class or module of ours is in. See `class_state.py`."""
    __slots__ = ()
    says_itself = True

    def __init__(self, owner: Any) -> None:
        super().__init__(owner, (class_state.state(owner),))

    def look(self) -> Sequence[Any] | None:
        return (class_state.state(self.owner),)

    def say(self, owner: Any) -> str:
        return f"`{getattr(owner, '__qualname__', owner.__name__)}` changed"

    def table(self, t: Any, objects: list[Any]) -> bool:
        state, now = class_state.state(self.owner), class_state.tag(self.owner)
        if state is not objects[0]:
            return False
        if isinstance(self.owner, types.ModuleType):
            (names, held), = state.held
            for name, x in zip(names, held):
                t.name(vars(self.owner), name, x)
            return True
        if now:
            t.word(t.id(self.owner) + class_state.OFFSET, now)
        return bool(now)


class AbstractClasses(Place):
    """Which classes were registered as subclasses of abstract ones."""
    __slots__ = ()
    says_itself = True

    def __init__(self) -> None:
        super().__init__(None, self.look())

    def look(self) -> Sequence[Any]:
        return (abc.get_cache_token(),)

    def say(self, owner: Any) -> str:
        return "a class was registered as a subclass of an abstract one"


class SelfDescription(Place):
    """What a function or a class says of itself: names, texts and annotations."""
    __slots__ = ("names",)
    says_itself = True

    def __init__(self, owner: Any, names: tuple[str, ...]) -> None:
        self.owner, self.names = owner, names
        super().__init__(owner, self.look())

    def look(self) -> Sequence[Any]:
        owner = self.owner
        if not isinstance(owner, type):
            return [getattr(owner, n, None) for n in self.names]
        held = vars(owner)
        return [getattr(owner, n, None) if n in NAMES else held.get(n) for n in self.names]

    def say(self, owner: Any) -> str:
        return f"what `{owner.__qualname__}` says of itself changed"

    def table(self, t: Any, objects: list[Any]) -> bool:
        is_class = isinstance(self.owner, type)
        held = [(n, x) for n, x in zip(self.names, objects) if is_class <= (n in NAMES)]
        found, d = self_description(self.owner, held), namespace(self.owner)
        if found is None or is_class and d is None:
            return False
        for offset, x in found:
            t.word(t.id(self.owner) + offset, t.id(x))
        if is_class:
            for n, x in zip(self.names, objects):
                if n not in NAMES:
                    t.name(d, n, MISSED if x is None and n not in d else x)
        return True


# ---- functions -----------------------------------------------------------------------------------
class FunctionParts(Place):
    """The code and the defaults of a function."""
    __slots__ = ()
    says_itself = True

    def __init__(self, owner: types.FunctionType) -> None:
        self.owner = owner
        super().__init__(owner, self.look())

    def look(self) -> Sequence[Any]:
        f = self.owner
        return f.__code__, f.__defaults__, f.__kwdefaults__

    def restore(self) -> None:
        f = self.owner
        f.__code__, f.__defaults__, f.__kwdefaults__ = self.objects

    def say(self, owner: Any) -> str:
        return f"the function `{owner.__qualname__}` changed"

    def is_shown(self, names: Names) -> bool:
        return False

    def inside(self, names: Names) -> list[tuple[str, Any]]:
        _, defaults, by_name = self.objects
        name = f"{self.owner.__name__}'s default"
        return [(name, x) for x in (*(defaults or ()), *(by_name or {}).values())]

    def table(self, t: Any, objects: list[Any]) -> bool:
        if not layouts.function:
            return False
        for offset, x in zip(layouts.function, objects):
            t.word(t.id(self.owner) + offset, 0 if x is None else t.id(x))
        return True


class PartialCall(Place):
    """The function, the arguments and the attributes of a `functools.partial`."""
    __slots__ = ()

    def __init__(self, owner: functools.partial[Any]) -> None:
        self.owner = owner
        super().__init__(owner, self.look())

    def look(self) -> Sequence[Any]:
        *call, attributes = parts_of_partial(self.owner)
        return [*call, ABSENT if attributes is None else attributes]

    def found(self) -> Sequence[Any]:
        return [x for x in self.objects if x is not ABSENT]

    def table(self, t: Any, objects: list[Any]) -> bool:
        *objects, attributes = objects
        at = [holds(self.owner, x) for x in objects]
        if None in at:
            return False
        t.word(t.id(self.owner) + type(self.owner).__dictoffset__,
               0 if attributes is ABSENT else t.id(attributes))
        for offset, x in zip(at, objects):
            t.word(t.id(self.owner) + offset, t.id(x))
        return True


# ---- values of other kinds -----------------------------------------------------------------------
class Setting(Place):
    """A setting that no object holds; `owner` is the function that says it."""
    __slots__ = ("name",)
    says_itself = True

    def __init__(self, name: str, owner: Callable[[], Any]) -> None:
        super().__init__(owner, (owner(),))
        self.name = name

    def look(self) -> Sequence[Any] | None:
        return (self.owner(),)

    def say(self, owner: Any) -> str:
        return f"a setting of {self.name} changed"
