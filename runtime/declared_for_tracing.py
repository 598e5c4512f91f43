"""What the framework says of its own code, for a tracer to know: which code it has written at run
time, which modules only compute, which of their functions change what a tensor is nevertheless,
and which of their answers go by no sizes, or are elements.

What names of files and modules are like says nothing.
"""
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)
Names = dict[str, Any]

GENERATED: dict[int, Names] = {}         # namespaces of code written at run time, by id
# those of modules that only compute, and of packages of such
COMPUTING: dict[int, Names] = {}
ACTING: set[CodeType] = set()            # code of functions that do more
SIZELESS: set[CodeType] = set()          # code of functions whose answers go by no sizes
# code of functions that tell what is in a tensor, which who records is asked about
TELLING: set[CodeType] = set()
# code of methods that read attributes which a trace need not compare where nothing within reach
# names them or one of these methods
READING_UNNAMED: set[CodeType] = set()
# classes whose objects are nothing but their attributes
DATA: list[type] = []
# code of functions that stand for another one -> which variable of theirs holds that
WRAPPERS: dict[CodeType, str] = {}


def run(code: CodeType, names: Names, scope: Names | None = None) -> Names:
    """Run code that we have written, in a namespace of its own, which it gives back. `scope`: where
    it puts what it defines, if not there.

    >>> from whet import declared_for_tracing
    >>> declared_for_tracing.run(compile("b = a + 1", "<whet>", "exec"), {"a": 1})["b"]
    2
    """
    GENERATED[id(names)] = names
    exec(code, names, scope)
    return names


def only_computes(names: Names) -> None:
    """The functions of a module, or of the modules of a package, compute, and read and change
    nothing but objects that they are given. `names`: its globals."""
    COMPUTING[id(names)] = names


def acts(function: F) -> F:
    """A function of such a module changes what a tensor is, or has gradients computed."""
    ACTING.add(function.__code__)
    return function


def reads_unnamed(function: F) -> F:
    """A method reads attributes that traces may not have compared: see `named_by` of its class."""
    READING_UNNAMED.add(function.__code__)
    return function


def goes_by_no_size(function: F) -> F:
    """What a function tells its caller is the same whatever sizes tensors have, if nothing else
    differs.

    >>> import whet
    >>> from whet import declared_for_tracing
    >>> whet.Tensor.dim.__code__ in declared_for_tracing.SIZELESS
    True
    """
    SIZELESS.add(function.__code__)
    return function


def are_data(cls: C) -> C:
    """The objects of a class of ours, and of the classes that we have derived from it, are nothing
    but their attributes: an object with the same ones is as good.

    >>> import whet
    >>> from whet.declared_for_tracing import is_data
    >>> is_data(whet.distributions.Normal), is_data(whet.nn.Linear)
    (True, False)
    """
    DATA.append(cls)
    return cls


def is_data(cls: type) -> bool:
    """Is a class one of these, or derived from one?"""
    return any(base in cls.__mro__ for base in DATA)


def tells_elements(function: F) -> F:
    """What a function tells is in a tensor: a recording that goes on from it has it as a guard, or
    follows it."""
    TELLING.add(function.__code__)
    return function


def stands_for(variable: str) -> Callable[[F], F]:
    """A decorator of functions that are what the one in this variable of theirs is."""
    def noted(wrapper: F) -> F:
        WRAPPERS[wrapper.__code__] = variable
        return wrapper
    return noted


def is_sizeless(frame: FrameType) -> bool:
    """Does what runs in a frame, or what it stands for, tell what goes by no sizes?"""
    code = frame.f_code
    if code not in WRAPPERS:
        return code in SIZELESS
    function = frame.f_locals[WRAPPERS[code]]
    while (code := function.__code__) in WRAPPERS:
        function = function.__closure__[code.co_freevars.index(WRAPPERS[code])].cell_contents
    return code in SIZELESS
