"""A short run of the fuzzer of arguments, what it found, and that it finds things."""
import time

import numpy as np
import pytest
import whet
from whet.nn import functional as F
from whet.ops import random_counts

from tests import fuzz_arguments

SECONDS = 12


@pytest.mark.parametrize("native", ["1", "0"])
def test_random_arguments(native):
    n, found = fuzz_arguments.explore(seed=11, rounds=2 if native == "1" else 1, seconds=SECONDS,
                                      native=native)
    assert n > 100
    found = [f for f in found if f[0] != "slow"]             # a busy machine is no fault
    assert not found, "\n".join(f"{kind}: {why}\n    {call}" for kind, _, why, call in found)


class Bad:
    """Targets that are wrong in the ways that are looked for."""

    def internal(input):
        raise KeyError("x")

    def changed(input):
        input.add_(1)
        raise ValueError("no")

    def mode(input):
        whet.set_grad_enabled(False)


@pytest.mark.parametrize("kind", ["internal", "changed", "mode"])
def test_what_is_wrong_is_found(kind):
    fn = getattr(Bad, kind)
    if kind == "internal":
        # raised by our code, not by the fuzzer's own
        fn = lambda input: whet.nn.Module().no_such_thing
    assert fuzz_arguments.judge(whet, fn, [whet.ones(2)], {})[0] == kind
    assert whet.is_grad_enabled()


def test_a_right_call_and_a_named_error_are_fine():
    assert fuzz_arguments.judge(whet, whet.relu, [whet.ones(2)], {}) is None
    assert fuzz_arguments.judge(whet, whet.relu, [3], {}) is None


@pytest.mark.parametrize("call, error, named", [
    (lambda: F.conv1d(whet.ones(1, 3, 4), whet.ones(3, 3, 3), stride=("x",)), TypeError,
     "conv1d(): argument 'stride'"),
    (lambda: F.conv1d(whet.ones(1, 3, 4), whet.ones(3, 3, 3), stride=1.5), TypeError,
     "conv1d(): argument 'stride'"),
    (lambda: F.conv1d(whet.ones(1, 3, 4), whet.ones(3, 3, 3), groups=1.5), TypeError,
     "conv1d(): argument 'groups'"),
    (lambda: F.max_pool2d(whet.ones(1, 1, 4, 4), (1.5, 2)), TypeError,
     "max_pool2d(): argument 'kernel_size'"),
    (lambda: F.adaptive_avg_pool2d(whet.ones(1, 1, 4, 4), ("x", 2)), TypeError, "output_size"),
    (lambda: F.hardtanh_(whet.ones(3), [-1.0] * 3, 1.0), TypeError, "hardtanh"),
    (lambda: whet.nn.functional.hardtanh_(whet.ones(3), -1.0, (1.0, 2.0)), TypeError, "hardtanh"),
    (lambda: whet.ones(3).add_(np.ones(3)), TypeError, "add"),
    (lambda: whet.ones(3).add_(np.arange(3, dtype=">f8")), TypeError, "add"),
    (lambda: whet.ones(2).mul_(np.zeros(2, [("a", "f4")])), TypeError, "mul"),
    (lambda: whet.from_numpy(np.arange(3, dtype=">f8")), ValueError, "byte order"),
    (lambda: whet.from_numpy(np.zeros(2, [("a", "f4")])), TypeError, "can't convert"),
    (lambda: whet.ones(4).as_strided_((-1,), (1,)), RuntimeError, "as_strided_"),
    (lambda: whet.ones(4).as_strided_((2, 2), (1,)), RuntimeError, "as_strided_"),
    (lambda: whet.ones(3).outer([1, 2]), TypeError,
     "outer(): argument 'vec2' (position 2) must be Tensor, not list"),
    (lambda: whet.ones(3).index_add(0, [1], 3), TypeError,
     "index_add(): argument 'index' (position 2) must be Tensor, not list"),
    (lambda: whet.nn.LSTM(3, 4)([1]), TypeError, "must be Tensor, not list"),
    (lambda: whet.nn.init.ones_(3), TypeError,
     "argument 'tensor' (position 1) must be Tensor, not int"),
    (lambda: whet.distributions.Categorical([1]), TypeError,
     "Categorical(): argument 'probs' (position 1) must be Tensor, not list"),
    (lambda: whet.bincount(np.arange(3)), TypeError, "must be Tensor, not ndarray"),
    (lambda: whet.ones(2).long("x"), ValueError, "memory_format"),
    (lambda: whet.nn.utils.weight_norm(whet.ones(3)), TypeError,
     "expected a module, got Tensor"),
    (lambda: whet.nn.TransformerDecoder(whet.nn.TransformerDecoderLayer(4, 2), 2 ** 62),
     MemoryError, "copies"), (lambda: whet.nn.LSTM(2, 2, 2 ** 62), MemoryError, "layers")])
def test_wrong_arguments_are_named(call, error, named):
    with pytest.raises(error) as e:
        call()
    assert named in str(e.value)


def test_an_attribute_error_of_a_users_module_stays_one():
    class Mine(whet.nn.Module):
        def forward(self, config):
            return config.width
    with pytest.raises(AttributeError):
        Mine()(3)


def test_no_element_of_an_incomplete_gamma_function_waits_for_another():
    a, x = (whet.full((200_000,), 2.0,
                      dtype=whet.float64), whet.full((200_000,), 3.0, dtype=whet.float64))
    alone = whet.igammac(a, x)[1:].clone()
    a[0], x[0] = 1e6, 1e6
    begun = time.process_time()
    assert whet.igammac(a, x)[1:].equal(alone)
    assert time.process_time() - begun < 10


@pytest.mark.parametrize("a, z, want",
                         [(1e8, 0., 0.49998670192398587), (1e8, 1., 0.15865525352820117),
                          (1e10, .5, 0.30853665856285334), (1e12, 2., 0.022750185939118726),
                          (3e7, 6., 9.996039391712408e-10)])
def test_incomplete_gamma_functions_of_large_numbers(a, z, want):
    at = [whet.tensor([v], dtype=whet.float64) for v in (a, a + z * a ** 0.5)]
    assert whet.igammac(*at).item() == pytest.approx(want, rel=1e-10)
    assert whet.igamma(*at).item() == pytest.approx(1 - want, rel=1e-12)


def test_a_count_of_a_single_rate():
    whet.manual_seed(0)
    assert whet.poisson(whet.tensor(1e6)).shape == () and whet.poisson(whet.tensor(0.0)) == 0


def test_the_stream_of_a_key_begins_anew_whatever_was_drawn_before():
    key = np.array([3, 2 ** 63], np.uint64)

    def drawn(stream):
        return stream.poisson(2.5, 7).tolist(), stream.integers(9, dtype=np.uint32)
    want = drawn(np.random.Generator(np.random.Philox(key=key)))
    for _ in range(2):
        assert drawn(random_counts._stream(key)) == want
        random_counts._stream(key[::-1].copy()).binomial(9, 0.3, 5)
