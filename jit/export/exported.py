"""An exported function: a graph of its own, with its constants, that is called as the function
was."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from whet.autograd import modes
from whet.ir.graph import Graph
from whet.ir.interpret import Diverged, interpret
from whet.tensor import Tensor, wrap

from ..program.program import Miss
from . import by_ops
from .compiled import Compiled
from .errors import PreconditionError
from .preconditions import Precondition, broken, preconditions, wrong_type
from .signature import Signature, Value


class Samples:
    """One call: the arrays that went in, and those that came out."""

    __slots__ = ("inputs", "results")

    def __init__(self, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        self.inputs, self.results = list(inputs), list(results)


class Exported:
    """What `whet.export` gives: a function of its own that neither the Python code nor the module
    is needed for. It is called as the function was, from any thread; its results never require
    grad.

    `graph` (a `whet.ir.graph.Graph`) has one input for each tensor among the arguments, in the
    order of `inputs`, with `place` "argument 0", "argument 1", ... and the user's `name`; then one
    for each constant that is read, with `place` "constant" and a `name` that `constants` has. Its
    results are (value, name), in the order of `results`. All nodes are `OpNode`s, `Write`s to what
    the graph has made, and `Guard`s and `Ask`s that state something of data. `ir.interpret` runs
    it.

    `constants` are tensors by name, as `state_dict` has it for those of modules; nobody writes to
    them. `inputs` and `results` are lists of `Value`s (`name`, `type`). `signature` tells how
    arguments and the result are nested (see `parts.py`): of a `TensorPart`, `index` is the place
    in `inputs` or `results`. `preconditions` say what must be so of a call, `rewrites` what was
    done to the graph.

    >>> import whet
    >>> layer = whet.nn.Linear(3, 2).eval()
    >>> net = whet.export(layer, whet.ones(4, 3))
    >>> net
    <exported Linear(input: f32[4,3]) -> output: f32[4,2]; 2 constants, 32 bytes>
    >>> list(net.constants)
    ['weight', 'bias']
    >>> x = whet.ones(4, 3)
    >>> bool((net(x) == layer(x)).all())
    True
    >>> net(whet.ones(5, 3))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    whet.jit.export.errors.PreconditionError: input `input` is f32[5,3], but ... f32[4,3]
    """

    def __init__(
        self,
        name: str,
        graph: Graph,
        constants: Mapping[str, Any],
        signature: Signature,
        rewrites: Sequence[str],
        samples: Samples,
    ) -> None:
        self.name, self.graph, self.signature = name, graph, signature
        self.constants: dict[str, Tensor] = {k: wrap(a) for k, a in constants.items()}
        self.rewrites, self.samples = list(rewrites), samples
        self._compiled: Compiled | None = None
        self._lock = threading.Lock()

    inputs: list[Value] = property(lambda self: self.signature.inputs)  # type: ignore[assignment]
    results: list[Value] = property(lambda self: self.signature.results)  # type: ignore[assignment]

    @property
    def preconditions(self) -> list[Precondition]:
        """What must be so of a call."""
        return list(preconditions(self.signature, self.graph))

    # ---- calls -----------------------------------------------------------------------------------
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors = self.signature.gather(args, kwargs)
        if modes.state.observers:
            return self.signature.output.build(by_ops.run(self.graph, tensors, self.constants))
        arrays = [t._array for t in tensors]
        for a, v in zip(arrays, self.signature.inputs):
            if a.shape != v.type.shape or a.dtype != v.type.dtype:
                raise wrong_type(v.name, a, v.type)
        return self.signature.output.build([wrap(a) for a in self.run(arrays)])

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The results as arrays, for arrays of the inputs' types."""
        compiled = self._compiled
        try:
            return (self.compiled if compiled is None else compiled)(arrays)
        except Miss as e:
            raise self.error(e, arrays) from None

    def error(self, miss: Miss, arrays: Sequence[Any]) -> Exception:
        """The error for data that go another way: the one that an op raises for them, if one
        does."""
        constants = [self.constants[x.name] for x in self.graph.inputs if x.place == "constant"]
        try:
            interpret(self.graph, *arrays, *constants)
        except Diverged:
            pass
        except Exception as e:
            e.add_note(
                f"in the exported function `{self.name}`"
                + (f", from {miss.reason.where}" if miss.reason.where else "")
            )
            return e
        return broken(self.name, miss)

    @property
    def compiled(self) -> Compiled:
        """The program; made where there is none yet."""
        with self._lock:
            if self._compiled is None:
                self._compiled = self.compile()
            return self._compiled

    def compile(self) -> Compiled:
        """The program, made anew."""
        return Compiled(self.graph, self.constants)

    # ---- telling ---------------------------------------------------------------------------------
    @property
    def nbytes(self) -> int:
        """The bytes of the constants."""
        return sum(t._array.nbytes for t in self.constants.values())

    def __repr__(self) -> str:
        given, made = (", ".join(map(repr, xs)) for xs in (self.inputs, self.results))
        n = len(self.constants)
        held = f"{n} constant{'s' * (n != 1)}, {self.nbytes:,} bytes"
        return f"<exported {self.name}({given}) -> {made}; {held}>"

    def explain(self) -> str:
        """Inputs, results, constants with their bytes, preconditions, what was rewritten, and
        kernels, in words."""
        from .explain import explained

        return explained(self)

    def show(self, path: str | None = None) -> str:
        """Write a page with the graph, as it was exported and as it runs; gives the path, of a new
        file where none is given."""
        from .page import show

        return show(self, path)

    def _repr_html_(self) -> str:
        from .page import page

        return page(self, inside=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an archive, which `whet.load` reads: see `archive_format.py`."""
        from .write_archive import save

        save(self, path)

    def to_onnx(
        self,
        path: Any,
        opset: int | None = None,
        *,
        input_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
        external_data: bool | None = None,
    ) -> None:
        """Write an ONNX model, of opset 17 or newer (at first 20).

        It gets its name when it is checked, and has given the sample's results in ONNX Runtime
        where that is installed. Raises OnnxError with all that ONNX cannot express, by the user's
        lines. Inputs and outputs have the user's names, or those that are given.
        `external_data=True` puts the constants into a file beside, as is done with more than
        2 GiB. """
        from whet.onnx.write.exported_model import to_onnx

        to_onnx(self, path, opset, external_data, input_names, output_names)

    def verify(self) -> None:
        """Run the samples: raises PreconditionError where a result has other bits than at the
        export."""
        from ..verify.same_bits import same_bits

        made = self.run(self.samples.inputs)
        for v, a, b in zip(self.results, made, self.samples.results, strict=True):
            if not same_bits(a, b):
                raise PreconditionError(
                    f"result `{v.name}` of the sample has other bits than it had at the export"
                )
