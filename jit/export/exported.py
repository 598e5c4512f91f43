"""An exported function: a graph of its own, with its constants, that is called as the function
was.

`compile`, `to_onnx`, `save` and the like import what they need when they are called. Libraries
alone are thirty modules, which a process that only calls exported functions never loads."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from whet.autograd import modes
from whet.ir.graph import Graph
from whet.ir.interpret import Diverged, interpret
from whet.tensor import Tensor, wrap

from ..refusals.replay_miss import Miss
from . import by_ops
from .compiled import Compiled
from .dims import Values
from .errors import PreconditionError
from .module_methods import ModuleMethods
from .preconditions import Precondition, broken, preconditions, wrong_type
from .signature import Signature, Value
from .sized_graph import SizedGraph

PROGRAMS = 32  # programs for different sizes that are kept, the newest


class Samples:
    """One call: the arrays that went in, and those that came out."""

    __slots__ = ("inputs", "results")

    def __init__(self, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        self.inputs, self.results = list(inputs), list(results)


class Exported(ModuleMethods):
    """What `whet.export` gives: a function of its own that neither the Python code nor the module
    is needed for. It is called as the function was, from any thread; its results never require
    grad.

    `graph` (a `whet.ir.graph.Graph`) has one input for each tensor among the arguments, in the
    order of `inputs`, with `place` "argument 0", "argument 1", ... and the user's `name`; then one
    for each constant that is read, with `place` "constant" and a `name` that `constants` has. Its
    results are (value, name), in the order of `results`. All nodes are `OpNode`s, `Write`s to what
    the graph has made, and `Guard`s and `Ask`s that state something of data. `ir.interpret` runs
    it.

    `constants` are tensors by name, as `state_dict` has it for those of modules; nothing writes to
    them. `inputs` and `results` are lists of `Value`s (`name`, `type`). `signature` tells how
    arguments and the result are nested (see `tree_structure.py`): of a `TensorPart`, `index` is
    the place in `inputs` or `results`. `preconditions` say what must be so of a call, `rewrites`
    what was done to the graph.

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

    # what a trace that calls it need not compare: it never changes, or is made as it is needed
    _unwatched = frozenset(("name", "graph", "signature", "sized", "rewrites", "samples",
                            "_programs", "_lock"))

    def __init__(
        self,
        name: str,
        graph: Graph,
        constants: Mapping[str, Any],
        signature: Signature,
        rewrites: Sequence[str],
        samples: Samples,
        sized: SizedGraph | None = None,
    ) -> None:
        self.name, self.graph, self.signature, self.sized = name, graph, signature, sized
        self.constants: dict[str, Tensor] = {k: wrap(a) for k, a in constants.items()}
        self.rewrites, self.samples = list(rewrites), samples
        self._programs: dict[Values, Compiled] = {}
        self._lock = threading.Lock()

    inputs: list[Value] = property(lambda self: self.signature.inputs)  # type: ignore[assignment]
    results: list[Value] = property(lambda self: self.signature.results)  # type: ignore[assignment]

    @property
    def preconditions(self) -> list[Precondition]:
        """What must be so of a call."""
        dims = [] if self.sized is None else self.sized.dims.dims
        return list(preconditions(self.signature, self.graph, dims))

    def module(self, check_guards: bool = True) -> Exported:
        """What PyTorch's programs call for the callable: itself."""
        return self

    # ---- calls -----------------------------------------------------------------------------------
    @property
    def __signature__(self) -> inspect.Signature:
        """The parameters of the function that was exported."""
        return self.signature.python_signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors = self.signature.gather(args, kwargs)
        arrays = [t._array for t in tensors]
        if modes.state.observers:
            g = self.graph_at(self.sizes(arrays))
            return self.signature.output.build(by_ops.run(g, tensors, self.constants))
        return self.signature.output.build([wrap(a) for a in self.run(arrays)])

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The results as arrays, for arrays of the inputs' types."""
        values = self.sizes(arrays)
        compiled = self._programs.get(values)
        try:
            return (self.compiled_at(values) if compiled is None else compiled)(arrays)
        except Miss as e:
            raise self.error(e, arrays, values) from None

    def sizes(self, arrays: Sequence[Any]) -> Values:
        """The sizes in a call of those that differ. Raises PreconditionError for inputs of other
        types."""
        for a, v in zip(arrays, self.signature.inputs):
            if a.dtype != v.type.dtype or a.shape != v.type.shape and self.sized is None:
                raise wrong_type(v, a)
        if self.sized is None:
            return ()
        values = self.sized.dims.of([v.name for v in self.inputs], arrays)
        for i, (a, v) in enumerate(zip(arrays, self.inputs)):
            if a.shape != self.sized.dims.shape(i, v.type.shape, values):
                raise wrong_type(v, a)
        return values

    def error(self, miss: Miss, arrays: Sequence[Any], values: Values) -> Exception:
        """The error for data that go another way: the one that an op raises for them, if one
        does."""
        constants = [self.constants[x.name] for x in self.graph.inputs if x.place == "constant"]
        try:
            interpret(self.graph_at(values), *arrays, *constants)
        except Diverged:
            pass
        except Exception as e:
            where = f", from {miss.reason.where}" if miss.reason.where else ""
            e.add_note(f"in the exported function `{self.name}`{where}")
            return e
        return broken(self.name, miss)

    def graph_at(self, values: Values) -> Graph:
        """The graph for some sizes."""
        return self.graph if self.sized is None else self.sized.at(values)

    def compiled_at(self, values: Values) -> Compiled:
        """The program for some sizes; made where there is none yet."""
        with self._lock:
            found = self._programs.get(values)
            if found is None:
                found = self.program_of(self.graph_at(values))
                if len(self._programs) >= PROGRAMS:
                    del self._programs[next(iter(self._programs))]
                self._programs[values] = found
            return found

    @property
    def compiled(self) -> Compiled:
        """The program for the sizes of the example."""
        return self.compiled_at(() if self.sized is None else self.sized.dims.example)

    def program_of(self, g: Graph) -> Compiled:
        """The program of a graph."""
        return Compiled(g, self.constants)

    # ---- telling ---------------------------------------------------------------------------------
    @property
    def nbytes(self) -> int:
        """The bytes of the constants."""
        return sum(t._array.nbytes for t in self.constants.values())

    def __repr__(self) -> str:
        inputs, made = (", ".join(map(repr, xs)) for xs in (self.inputs, self.results))
        n = len(self.constants)
        held = f"{n} constant{'s' * (n != 1)}, {self.nbytes:,} bytes"
        return f"<exported {self.name}({inputs}) -> {made}; {held}>"

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

    def save(self, path: Any, extra_files: Mapping[str, str | bytes] | None = None) -> None:
        """Write an archive, which `whet.load` reads, to a path or a binary file: see
        `archive_format.py`. `extra_files` are texts by name, for `whet.jit.load`."""
        from .write_archive import save

        other = None if hasattr(path, "write") else {
            ".onnx": "to_onnx", ".so": "compile", ".o": "compile"}.get(
                os.path.splitext(os.fspath(path))[1])
        if other is not None:
            raise ValueError(f"save() writes a whet archive: use {other}({path!r})")
        save(self, path, extra_files or {})

    def compile(
        self,
        path: str | os.PathLike[str],
        *,
        target: str | Sequence[str] = "host",
        weights: str = "inside",
        name: str | None = None,
        threads: int | None = None,
    ) -> list[str]:
        """Write a library, `model.so` or the object file `model.o`, with its header `model.h`: a
        plain C interface that needs no Python and no whet, the C library alone. Gives the paths.

        `target` is "host" (all levels of this machine's kind), a level ("x86-64-v2", "x86-64-v3",
        "x86-64-v4", "aarch64-linux"), or several; the best one that the processor has is chosen
        when a model is made. `weights="beside"` puts them into `model.weights`, which is mapped.
        What is in C begins with `name`, at first that of the file. Launches are cut for
        `threads` threads, at first as many as whet has here, and take no more. Raises
        ExportError with all that only Python can do, by the user's lines."""
        from .library import compile_library

        return compile_library(
            self, path, target=target, weights=weights, name=name, threads=threads
        )

    def to_onnx(
        self,
        path: Any,
        opset: int | None = None,
        *,
        input_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
        external_data: bool | None = None,
        qdq: bool = False,
    ) -> None:
        """Write an ONNX model, of opset 17 or newer (at first 20).

        It gets its name when it is checked, and has given the sample's results in ONNX Runtime
        where that is installed. Raises OnnxError with all that ONNX cannot express, by the user's
        lines. Inputs and outputs have the user's names, or those that are given.
        `external_data=True` puts the constants into a file beside, as is done with more than
        2 GiB. `qdq=True` writes layers of bytes as other tools do, as real ones between
        `QuantizeLinear` and `DequantizeLinear`, in place of products of integers."""
        from whet.onnx.write.exported_model import to_onnx

        to_onnx(self, path, opset, external_data, input_names, output_names, qdq)

    def verify(self) -> None:
        """Run the samples: raises PreconditionError where a result has other bits than at the
        export."""
        from ..values.same_bits import same_bits

        made = self.run(self.samples.inputs)
        for v, a, b in zip(self.results, made, self.samples.results, strict=True):
            if not same_bits(a, b):
                raise PreconditionError(
                    f"result `{v.name}` of the sample has other bits than it had at the export"
                )
