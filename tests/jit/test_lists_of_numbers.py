"""`x.tolist()` in a traced function: lists of numbers that vary, whatever Python does with them."""
import json
import math

import numpy as np
import pytest
import whet
from whet import jit

HISTORY: list = []
TABLE = {i: f"row {i}" for i in range(-40, 40)}

USES = {
    "returned": lambda xs: xs,
    "returned twice": lambda xs: (xs, xs, [xs]),
    "an element": lambda xs: xs[0][1],
    "arithmetic": lambda xs: [a * 2 + b for a, b in zip(xs[0], xs[-1])],
    "a sum": lambda xs: sum(map(sum, xs)),
    "the largest": lambda xs: max(map(max, xs)),
    "sorted": lambda xs: sorted(x for row in xs for x in row),
    "a branch": lambda xs: "up" if xs[0][0] > xs[1][0] else ["down", xs[1]],
    "a key": lambda xs: TABLE[int(xs[0][0]) % 3],
    "text": lambda xs: ", ".join(map(str, xs[0])),
    "json": lambda xs: json.dumps(xs),
    "formatted": lambda xs: [f"{x:.2f}" for x in xs[1]],
    "a tensor": lambda xs: whet.tensor(xs) + 1,
    "a NumPy array": lambda xs: np.array(xs).sum(),
    "a comparison": lambda xs: xs == [[0.0] * 3] * 2,
    "changed": lambda xs: xs.append([1]) or xs[0].pop() and xs,
    "kept": lambda xs: HISTORY.append(xs),
    "kept, and read": lambda xs: (HISTORY.append(xs[0]), len(HISTORY), HISTORY[-1]),
    "a set": lambda xs: len({x for row in xs for x in row}),
    "unpacked": lambda xs: (lambda a, b: (a, *b))(*xs),
    "a whole number": lambda xs: int(xs[0][0]) + math.floor(xs[1][2]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "uint8", "bool",
                                   "bfloat16", "float16"])
@pytest.mark.parametrize("use", USES)
@pytest.mark.filterwarnings("ignore::whet.jit.TraceWarning")
def test_what_is_done_with_lists(use, dtype):
    do, kind = USES[use], getattr(whet, dtype)

    def f(x):
        return do((x * 2).to(kind).tolist())

    def run(call):
        HISTORY.clear()
        out = []
        for k in range(12):
            x = whet.arange(6.0).reshape(2, 3) * (k % 4) + k % 3
            out.append(call(x))
        return repr(out), repr(HISTORY)
    traced = jit.trace(f)
    assert run(traced) == run(f) == run(traced)


@pytest.mark.parametrize("use", ["returned", "arithmetic", "kept", "a tensor", "unpacked"])
def test_lists_that_are_only_passed_on_are_replayed(use):
    do = USES[use]

    def f(x):
        return do((x * 2).tolist())
    traced = jit.trace(f)
    for k in range(24):
        assert repr(traced(whet.full((2, 3), float(k)))) == repr(f(whet.full((2, 3), float(k))))
    calls = traced.explain(data=True)["calls"]
    assert calls["replayed"] >= 12, calls


def test_sampled_actions_are_replayed():
    """Eager draws the same, too."""
    weight = whet.linspace(-1, 1, 12).reshape(4, 3)

    @whet.no_grad()
    def act(x):
        d = whet.distributions.Categorical(logits=x @ weight)
        action = d.sample()
        return action.tolist(), d.log_prob(action).numpy()
    traced, seen = jit.trace(act), []
    for call in (traced, act):
        whet.manual_seed(3)
        seen.append([(a, p.tobytes()) for a, p in (
            call(whet.full((5, 4), k / 7)) for k in range(24))])
    assert seen[0] == seen[1] and traced.explain(data=True)["calls"]["replayed"] > 12


def test_a_tensor_of_nested_lists_is_no_view():
    def fn(x):
        made = whet.as_tensor(x.tolist())
        return made, made._is_view()
    traced = jit.trace(fn)
    for k in range(4):
        made, is_view = traced(whet.randn(3, 2) + k)
        assert not is_view and made._base is None
