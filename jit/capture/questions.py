"""What Python asks tensors for while a run is recorded: their numbers, facts about them, their
text, their memory.

An answer that Python continues from is a guard, and a replay asks again. A number that was seen to
vary is a `Number` instead, which a replay computes."""
from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from whet import devices, dtypes, size_arguments
from whet.autograd import modes
from whet.cpu.reduce import reduce
from whet.dtypes import COMPLEX, FROM_NUMPY
from whet.formatting import OPTIONS
from whet.ir.graph import Ask, Guard, Ref
from whet.ops import pointwise_family, registry
from whet.ops.observer import Observer
from whet.ops.question_kernels import asked
from whet.tensor import Size, Tensor
from whet.tensor_base import Base

from ..refusals.reasons import HandsOut, Memory, Prints, Raises, TooManyNumbers
from ..refusals.recording_errors import Refused
from ..stand_ins.numpy_stand_in import scalars_as_numbers
from ..values.array_facts import takes
from ..values.code_origin import ours
from ..values.varying_numbers import EXACT, NUMBERS, SAFE, Number, guarded_value, value_of
from .guarded_facts import GuardedFacts
from .numpy_arrays import COMPARED
from .purity import Watch
from .stand_ins_of_run import StandIns
from .tensors_of_run import TensorsOfRun
from .user_lines import where

if TYPE_CHECKING:
    from whet.ir.values import Array
    from whet.ops.registry import Op

    from ..stand_ins import numpy_stand_in

GUARDED = 64                     # elements of a tensor whose value may be a guard
LISTED = 256                     # elements of a tensor that may be numbers in a list


class Questions(Observer):
    """The part of a recorder that answers Python's questions."""
    tensors: TensorsOfRun
    guarded: GuardedFacts
    stand_ins: StandIns

    def unwatched_if_ours(self, op: Op, run: Callable[..., Any], *args: Any) -> Any:
        """Call `run`, which computes an op. This is unwatched, unless the user's code may run
        meanwhile: the op may be the user's, or hooks may pack what it saves."""
        calls_only_ours = op.ours and not modes.state.saved_hooks
        return Watch.unwatched(run, *args) if calls_only_ours else run(*args)

    def ask(self, question: Callable[..., Any], tensors: Sequence[Base]) -> Any:
        """Record a question about tensors whose answer Python continues from: a replay asks it
        again."""
        try:
            ins = self.operands(tensors)
        except Refused as e:
            self.refuse(e.reason)
            return question(*map(to_read, tensors))
        try:
            answer = question(*map(to_read, tensors))
        except BaseException as e:
            self.failed(e)
            raise
        asks = None
        if hasattr(question, "facts"):       # for kernels to ask
            a = to_read(tensors[0])
            asks = [(fact, bool(reduce("any", a, pre=fact))) for fact in question.facts(a)]
        self.run_memory.released.look(len(self.nodes))
        self.nodes.append(Ask(question, ins, answer, where(), asks))
        return answer

    def failed(self, error: BaseException) -> None:
        """Handle an error of an op that depends on numbers. The function may catch it, and a replay
        with other numbers would not notice."""
        self.refuse(Raises(f"an operation raised an error about numbers ({error})"))

    def without_scalars(self, inputs: tuple[Any, ...],
                        attrs: Mapping[str, Any]) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """Operands and attributes with Python's numbers, which may vary, in place of NumPy's."""
        if not self.stand_ins.arrays.stand_ins:
            return inputs, attrs
        return (tuple(map(scalars_as_numbers, inputs)),
                {name: scalars_as_numbers(x) for name, x in attrs.items()})

    def numbers(self, op: Op, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operands, with Numbers as zero-dimensional tensors if that gives the same kernel;
        otherwise their values become guards."""
        if not any(type(x) in NUMBERS for x in inputs):
            return inputs
        if isinstance(op, pointwise_family.PointwiseOp):
            arrays = [
                devices.places(x._array) if registry.is_tensor(x)
                else value_of(x) if type(x) in NUMBERS else x
                for x in inputs]
            kernel, number, t = op.plan(arrays)
            with modes.no_grad():
                made = [
                    self.stand_ins.numbers.as_operand(
                        x, FROM_NUMPY[op._number(value_of(x), number, t).dtype])
                    if type(x) in NUMBERS and t.category != COMPLEX else x for x in inputs]
            # Where tensors must be of one type, a number is none that is of another.
            types = {x._array.dtype for x in made if registry.is_tensor(x)}
            if not any(type(x) in NUMBERS for x in made) and (len(types) == 1 or not op.one_type):
                other, _, u = op.plan([
                    devices.places(x._array) if registry.is_tensor(x) else x for x in made])
                if u is t and str(other.roots) == str(kernel.roots):
                    return tuple(made)
        return tuple([guarded_value(x) if type(x) in NUMBERS else x for x in inputs])

    def sizes(self, t: Base, for_user: bool) -> Size | None:
        """The Numbers for `t.shape`; None if Python gets plain ones. What an op of ours computes
        of them `for_user` may then be another at sizes at which nothing tells. After the run, as a
        backward is recorded, none are followed."""
        if self.variation.sizes:
            return self.followed.of(self, t, for_user) if self in size_arguments.followers else None
        self.followed.is_incomplete |= for_user
        return None

    def pin(self, t: Base) -> None:
        """Make a number's value a guard, because Python continues from it."""
        if id(t) not in self.guarded.numbers:
            self.guarded.numbers.add(id(t))
            self.run_memory.released.look(len(self.nodes))
            self.nodes.append(Guard(Ref(self.value(t)), to_read(t).copy(), where()))

    def item(self, t: Base) -> Number | None:
        """The Number for `t.item()`; None if Python gets a plain one."""
        found = self.as_numbers(t, ()) if t._array.size == 1 else None
        if found is None:
            self.concretize(t)
            return None
        x, bound = found
        return Number(x._array.item(), x, self, bound)

    def lists(self, t: Base) -> bool:
        """May a list have the elements of a tensor as Numbers?"""
        size: int = t._array.size
        return self.variation.items and 0 < size <= LISTED

    def listed(self, t: Base) -> list[Any] | None:
        """The nested lists of Numbers for `t.tolist()`; None if Python gets plain ones."""
        shape = t._array.shape
        found = self.as_numbers(t, (-1,)) if self.lists(t) else None
        if found is None:
            self.concretize(t)
            return None
        x, bound = found
        with modes.no_grad():
            parts = x.unbind()
        self.stand_ins.numbers.tensors.append(x)  # that these are parts of
        made: list[Any] = [Number(value, part, self, bound)
                           for value, part in zip(x._array.tolist(), parts, strict=True)]
        for n in reversed(shape[1:]):
            made = [made[i:i + n] for i in range(0, len(made), n)]
        return made

    def as_numbers(self, t: Base, shape: tuple[int, ...]) -> tuple[Base, int] | None:
        """A tensor's elements, as the types of Python's floats or ints, in this shape, and how
        large they can be (for ints). None if Python has to get plain numbers."""
        a = t._array
        is_known = self.values.number(a) is not None or id(a) in self.reachable.by_array
        if (a.dtype.kind not in "fiu" or not self.variation.items or not is_known
                or a.dtype == np.uint64 and to_read(t).max() > SAFE):
            return None
        with modes.no_grad():
            x, wanted = (t.detach().cpu().reshape(
                shape), dtypes.float64 if a.dtype.kind == "f" else dtypes.int64)
            x = x.clone() if x.dtype is wanted else x.to(wanted)
        bound = 0
        if a.dtype.kind != "f":
            bound = max(abs(int(x)) for x in (np.iinfo(a.dtype).min, np.iinfo(a.dtype).max))
            numbers = to_read(t)
            if bound >= EXACT and -SAFE <= numbers.min() and numbers.max() <= SAFE:
                self.ask(_small if a.dtype.kind == "i" else _small_and_positive, (x,))
                bound = SAFE
        return x, bound

    def asked(self, t: Base, what: str) -> None:
        """Handle a question about a fact of a tensor that ops do not see. The answer is the same at
        each call if the run made the tensor and its memory. Otherwise a storage offset is a guard,
        and other facts refuse the recording."""
        if ours(sys._getframe(2)) or what == "version" and self.tensors.has_cell_of(t):
            return                           # such a version starts at 0 in each call
        owner, is_from_run = self.owner_and_origin(t)
        if what == "place in memory" and (owner is not None or not is_from_run):
            # The strides of a view are known, so it is enough to compare its owner.
            self.guard_offset(t if owner is None else owner)
        elif not is_from_run or owner is not None and what != "history":
            self.refuse(Memory(f"it asks for the {what} of a tensor from outside"))

    def owner_and_origin(self, t: Base) -> tuple[Base | None, bool]:
        """The tensor from outside whose memory a tensor shows, or None; did the run make the tensor
        itself? `x.data` of a tensor that the run made has no value number of its own."""
        n = self.values.number(t._array)
        owner = None if n is None else self.outside.get(self.values.root(n))
        return owner, t in self.tensors or n is not None and owner is None

    def guard_offset(self, t: Base) -> None:
        """Compare the storage offset of a tensor from outside."""
        try:
            self.value(t)
        except Refused as e:
            self.refuse(e.reason)
        else:
            self.guarded.compare_offset(t)

    def is_number(self, operand: Base) -> bool:
        """Does this operand stand for a number that the run passed to an op?"""
        return self.stand_ins.numbers.is_operand(operand)

    def freed(self, node: Any) -> None:
        """A backward has freed what a node saved. A replay does not free what was saved before
        it."""
        if node.released and self.tensors.existed_before(node):
            self.refuse(Memory("it goes back through a graph that was made before the call, "
                               "and frees it"))

    def without_history(self, t: Base) -> None:
        """The run made this tensor, though its memory may be that of a tensor from outside."""
        self.tensors.add(t)

    def handed_out(self, t: Base) -> None:
        """Somebody gets the memory of a tensor as a storage, which asks no questions."""
        if not ours(sys._getframe(3)):
            self.refuse(HandsOut("a tensor's storage was handed out"))

    def shown(self, t: Base) -> None:
        """A tensor becomes text: its numbers and the print options become guards."""
        if t._node is not None and t not in self.tensors:
            self.refuse(
                Prints("a tensor from outside with a history became text",
                       "Print x.detach(), or its number by .item()."))
        self.guarded.settings.append(OPTIONS)
        self.concretize(t)

    def array_is_shared(self, t: Base) -> None:
        """Note the line that wraps a tensor around an array; errors about the tensor name it."""
        if self.values.number(t._array) is None and id(t._array) not in self.reachable.by_array:
            if self.is_constant(t):
                return
            self.tensors.wrapped[id(t._array)] = sys._getframe(2).f_code.co_name, where()
        known = self.reachable.by_array.get(id(t._array))
        if t._base is None and t not in self.tensors and known is not t:
            self.tensors.version_cells.append(t._cell)

    def is_constant(self, t: Base) -> bool:
        """A tensor was wrapped around an array without a stand-in. If the run made the array, its
        contents are the same at each call. They must stay the same, because others see its memory
        too."""
        a: Array = t._array
        owner = a
        while type(owner.base) is np.ndarray:
            owner = owner.base
        if (owner.base is not None or a.nbytes > COMPARED or not takes(a)
                or not a.flags.c_contiguous or any(x is a.base for x in self.reachable.watched)):
            return False
        self.note(registry.REGISTRY["constant"], (), {"array": a}, t)
        self.stand_ins.arrays.handed.append((a, a.tobytes()))
        self.reachable.laid_around.add(self.values.number(a))
        return True

    def shows_an_array(self, t: Base) -> bool:
        """Is a tensor in the memory of an array that other code holds?"""
        n = self.values.number(t._array)
        root = None if n is None else self.values.root(n)
        return id(t) in self.reachable.borrowed or root in self.reachable.laid_around

    def exposed(self, t: Base) -> numpy_stand_in.Array | None:
        """The stand-in for the array that shows a tensor's memory."""
        if (self.code.notices_numbers or self.code.makes_generators or type(t) is not Tensor
                or t._array.dtype not in FROM_NUMPY or t._array.dtype.kind == "V"):
            self.refuse(HandsOut("a tensor's memory was handed to NumPy"))
            return None
        t._shared().shown = 1
        x = self.stand_ins.arrays.of(t)
        return None if self.reason else x

    def concretize(self, t: Base) -> None:
        """Python is about to see the value."""
        try:
            n = self.value(t)
        except Refused as e:
            self.refuse(e.reason)
            return
        if t._array.size > GUARDED:
            self.refuse(TooManyNumbers(f"{t._array.size} numbers of a tensor became Python's"))
        else:
            self.run_memory.released.look(len(self.nodes))
            self.nodes.append(Guard(Ref(n), to_read(t).copy(), where()))


def to_read(t: Base) -> Array:
    """The contents of a tensor in the host's memory; for a device somebody has to wait for them."""
    a: Array = t._array
    return Watch.unwatched(devices.on_host, a) if devices.is_elsewhere(a) else a


def _small(a: Array) -> bool:
    return bool(((a >= -SAFE) & (a <= SAFE)).all())


# An unsigned number, which as a signed one may be negative.
def _small_and_positive(a: Array) -> bool:
    return bool(((a >= 0) & (a <= SAFE)).all())


# kernels ask them
asked(lambda x, _: (x < -SAFE) | (x > SAFE))(_small)
asked(lambda x, _: (x < 0) | (x > SAFE))(_small_and_positive)
