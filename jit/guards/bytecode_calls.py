"""Whether a name that is marked as called is what is called.

CPython 3.11 and 3.12 push a mark before the expression that is called. If the expression begins
with a global, its load has the mark. So `float` is marked in `float(x)`, but also in
`(f if float is kind else g)(x)`, where it is not called.
"""
import dis
import sys
from collections.abc import Sequence
from types import CodeType

from .bytecode import Instruction

_CALL = "PRECALL" if "PRECALL" in dis.opmap else "CALL"
_MARKS_FOLLOW = sys.version_info >= (3, 13)  # what is called
_GIVE_NOTHING = "POP_", "STORE_", "JUMP_IF_"


def reaches_its_call(found: Sequence[Instruction], i: int) -> bool:
    """Does what instruction i of a list loads, marked as called, stay on the stack until the call?

        >>> from whet.jit.guards.bytecode import instructions
        >>> from whet.jit.guards.bytecode_calls import reaches_its_call
        >>> def asks(f):
        ...     found = list(instructions(f.__code__))
        ...     return [reaches_its_call(found, i) for i, x in enumerate(found) if x[2] == "int"]
        >>> asks(lambda x, y: int(x if y is x else y))
        [True]
    """
    if _MARKS_FOLLOW:
        return True
    depth = 1                                # of the stack, from what the instruction loads on
    for name, arg, _ in found[i + 1:]:
        if name == _CALL and depth - arg == 1 or name == "CALL_FUNCTION_EX":
            return True
        op = dis.opmap[name]
        effect = dis.stack_effect(op, arg if op >= dis.HAVE_ARGUMENT else None, jump=False)
        gives = effect <= 0 and not name.startswith(_GIVE_NOTHING)
        if depth + min(effect, 0) - gives < 1:
            return False
        # After a jump forward comes the other one of two values.
        depth += effect - (name == "JUMP_FORWARD")
    return True


def is_first_alone(code: CodeType, found: Sequence[Instruction], i: int) -> bool:
    """Is the code's first argument all that the call gets which instruction i begins with?

        >>> from whet.jit.guards.bytecode import instructions
        >>> from whet.jit.guards.bytecode_calls import is_first_alone
        >>> one, another = (lambda self: type(self)), (lambda self: type(self.rng))
        >>> [any(is_first_alone(f.__code__, found, i) for i in range(len(found)))
        ...  for f in (one, another) for found in [list(instructions(f.__code__))]]
        [True, False]
    """
    name, _, value = found[i]
    return (name == "LOAD_FAST" and value == code.co_varnames[0] and i + 1 < len(found)
            and found[i + 1][0] == _CALL)
