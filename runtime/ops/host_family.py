"""The host family: ops that are a call of NumPy's (LAPACK), with what their operands must be."""
import numpy as np

from ..cpu import lapack_threads
from ..dtypes import FLOAT
from .batching import all_batched, example_ndim
from .registry import Op, apply, is_tensor


def batched_matrices(op, n, inputs, batched, attrs):
    """The rule of an op that takes any number of dimensions in front of its matrices."""
    if len({example_ndim(x, b) for x, b in zip(inputs, batched) if is_tensor(x)}) > 1:
        return NotImplemented
    return apply(op, tuple(all_batched(n, inputs, batched)), attrs)


def _in_type(result, kept, narrow):
    """A result of a LAPACK call in the type of what it was given. Complex results of real operands
    stay complex, integers stay integers."""
    if narrow is not None and result.dtype.kind == "f":
        return np.asarray(result, narrow)
    return np.asarray(result, kept) if result.dtype.kind == kept.kind else result


def host(name, run, *, vjp=None, infer=None, samples=None, nondiff_outputs=(), onnx=None,
         failed=None):
    """An op computed by `run(*arrays, **attrs)` on the host; halves are computed in f32.
    `infer(*tensors)` refuses bad operands; `failed(*arrays, **attrs)` says what they lack after an
    error of LAPACK's, whose words it may leave by None."""
    def forward(*arrays, **attrs):
        types = [a.dtype for a in arrays if isinstance(a, np.ndarray)]
        narrow = types[0] if types and types[0].itemsize < 4 and types[0].kind in "fV" else None
        if narrow is not None:
            arrays = [a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in arrays]
        small = lapack_threads.are_small([a for a in arrays if isinstance(a, np.ndarray)])
        try:
            with lapack_threads.one_thread(small):
                r = run(*arrays, **attrs)
        except np.linalg.LinAlgError as error:
            why = failed(*arrays, **attrs) if failed else None
            raise LinAlgError(f"linalg.{name}: {why or error}") from None
        parts = tuple(r) if isinstance(r, tuple) else (r,)
        kept = types[0]
        parts = tuple(_in_type(p, kept, narrow) for p in map(np.asarray, parts))
        return parts if isinstance(r, tuple) else parts[0]
    op = Op(name, forward, vjp, samples=samples, nondiff_outputs=nondiff_outputs,
            batch=batched_matrices, onnx=onnx)
    op.family = "host"

    def call(*operands, **attrs):
        for x in operands:
            if is_tensor(x) and x.dtype.category < FLOAT:
                raise NotImplementedError(
                    f"linalg.{name}: Expected a floating point or complex tensor as input. Got "
                    f"{x.dtype.letter}")
            if not is_tensor(x) and not isinstance(x, int | float):
                raise TypeError(
                    f"linalg.{name}(): argument must be Tensor, not {x.__class__.__name__}")
        if infer:
            infer(*operands)
        return apply(op, operands, attrs)
    call.op, call.__name__, call.__qualname__ = op, name, name
    return call


class LinAlgError(RuntimeError):
    """A matrix without what was asked of it: singular, not positive definite, no convergence."""


def matrix(name, a):
    """Raise unless an operand has at least two dimensions."""
    if a.ndim < 2:
        raise RuntimeError(
            f"linalg.{name}: The input tensor A must have at least 2 dimensions, got "
            f"{tuple(a.shape)}")


def square(name):
    """A check that the last two sizes are equal."""
    def infer(a, *rest):
        matrix(name, a)
        if a.shape[-1] != a.shape[-2]:
            raise RuntimeError(
                f"linalg.{name}: A must be batches of square matrices, but they are {a.shape[-2]} "
                f"by {a.shape[-1]} matrices")
    return infer
