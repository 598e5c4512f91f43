"""Calls that machine code repeats come to what the first call came to, whatever their memory held.

What an op computes by NumPy is not repeated: an op whose result is written by kernels in part, and
by NumPy in part, would leave old bytes in it. NumPy copies small arrays, and kernels copy large
ones: tests with small arrays move the bound between them."""
import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.cpu import pointwise, repeated_calls
from whet.ops.registry import REGISTRY

from tests.ops import test_ops

TYPES = [whet.float16, whet.bfloat16, whet.float32, whet.float64, whet.complex64, whet.complex128,
         whet.int64, whet.uint8, whet.bool]
ROUNDS = 5
# functions cast other operands before they come to these ops
CAST_BEFORE = {
    **dict.fromkeys(("gru", "lstm", "rnn_relu", "rnn_tanh"), (whet.float32, whet.float64)),
    "squares_of_each": (whet.float16, whet.bfloat16, whet.float32, whet.float64)}


def _tensors(values):
    """The tensors among values, which may be nested."""
    for x in values:
        if isinstance(x, whet.Tensor):
            yield x
        elif isinstance(x, (list, tuple)):
            yield from _tensors(x)


def _come_to(op, sample):
    """What a call and its gradients come to, in bytes. Their memory then holds something else."""
    inputs = list(_tensors(sample.args))
    for x in inputs:
        x.grad = None
    made = [r for r in test_ops.run(op, sample) if isinstance(r, whet.Tensor)]
    asked = [r for r in made if r.requires_grad]
    if asked:
        whet.autograd.backward(asked, [whet.ones_like(r) for r in asked],
                               retain_graph=True)
    made += [x.grad for x in inputs if x.grad is not None]
    found = [(r.dtype, r.shape, r._array.tobytes()) for r in made]
    for r in made:
        if not any(np.may_share_memory(r._array, x._array) for x in inputs):
            _spoil(r._array)
    return found


def _spoil(array):
    """Fill memory with bytes that no result consists of."""
    if array.flags.writeable:
        array[...] = np.full(array.itemsize, 0xA5, np.uint8).view(array.dtype)


def _calls(op, dtype, seed):
    """The samples of an op with elements of a type, where it takes such."""
    try:
        return list(test_ops.calls(op, seed, dtype, dtype.is_floating_point or dtype.is_complex))
    except Exception:                        # no samples of this type
        return []


@pytest.mark.drawn(3)
@pytest.mark.parametrize("bound", [0, 4, None])
@pytest.mark.parametrize("name", test_ops.TESTED)
def test_repeated_calls_write_all_of_their_results(name, bound, monkeypatch):
    if bound is not None:
        monkeypatch.setattr(pointwise, "SMALL_COPY", bound)
        monkeypatch.setattr(pointwise, "PLAIN_COPY", 8 * bound)
    op, compared = REGISTRY[name], 0
    for dtype in CAST_BEFORE.get(name, TYPES):
        for one, other in zip(_calls(op, dtype, 0), _calls(op, dtype, 1)):
            repeated_calls.forget()
            try:
                first = [_come_to(op, sample) for sample in (one, other)]
            except Exception:                # functions cast such operands, or refuse them
                continue
            for _ in range(ROUNDS):
                assert [_come_to(op, sample) for sample in (one, other)] == first, (dtype, one)
            compared += 1
    assert compared


MOVES = {
    "pad": lambda x: F.pad(x, (1, 2, 3, 4), value=2.0),
    "reflect": lambda x: F.pad(x[None], (1, 2, 3, 4), mode="reflect"),
    "circular": lambda x: F.pad(x[None], (1, 2, 3, 4), mode="circular"),
    "roll": lambda x: x.roll((3, 2), (0, 1)),
    "block_diag": lambda x: whet.block_diag(x, x[:3, :3]),
    "cat": lambda x: whet.cat([x[:1], x, x[:2]]),
    "slice_scatter": lambda x: whet.slice_scatter(x, x[:2], 0, 3, 5),
}


@pytest.mark.parametrize("dtype", [whet.float32, whet.complex64, whet.complex128])
@pytest.mark.parametrize("name", MOVES)
def test_repeated_moves_of_many_elements(name, dtype):
    """More elements than NumPy moves, in parts that are smaller."""
    move = MOVES[name]
    x = whet.randn(101, 97, dtype=dtype)
    first = move(x)._array.tobytes()
    for _ in range(ROUNDS):
        made = move(x)
        assert made._array.tobytes() == first
        _spoil(made._array)
        del made


@pytest.mark.parametrize("call", [whet.diag_embed, whet.diagflat])
def test_calls_are_not_repeated_for_attributes_that_only_equal_theirs(call):
    """1 == 1.0, and a fraction is refused, whatever came before."""
    x = whet.ones(2, 2)
    with pytest.raises(TypeError):
        call(x, 1.0)
    for _ in range(ROUNDS):
        assert call(x, 1).shape[-1] > x.shape[-1]
    for _ in range(ROUNDS):
        with pytest.raises(TypeError):
            call(x, 1.0)
