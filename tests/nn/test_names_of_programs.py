"""What model files written for PyTorch ask of it beside tensors: containers as trees, marks for its
compilers, which process of how many this is, kernels of attention, tuples of sizes."""
import collections
import pickle

import pytest
import whet
from whet import nn
from whet.nn.attention import SDPBackend, sdpa_kernel
from whet.nn.modules.utils import _ntuple, _pair, _reverse_repeat_tuple
from whet.utils import _pytree as pytree
from whet.utils.checkpoint import get_device_states, set_device_states

Point = collections.namedtuple("Point", "x y")
TREES = [
    3, [], {}, (1,), {"b": 1, "a": [2, (3, None)]}, Point(1, [2]),
    collections.OrderedDict(z=1, a=2), collections.deque([1, [2]], maxlen=3),
    collections.defaultdict(list, a=[1], b=[])]


# ---- containers as trees -------------------------------------------------------------------------
@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_a_tree_is_built_again_from_its_leaves(tree):
    leaves, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    assert spec.num_leaves == len(leaves) and pytree.tree_structure(tree) == spec
    if isinstance(tree, collections.deque):
        assert again.maxlen == tree.maxlen
    if isinstance(tree, collections.defaultdict):
        assert again.default_factory is list


def test_trees_go_together_by_key():
    got = pytree.tree_map(lambda a, b: a - b, {"a": 5, "b": [6]}, {"b": [1], "a": 2})
    assert got == {"a": 3, "b": [5]}


@pytest.mark.parametrize("tree,other", [
    ([1, 2], [1]), ([1, 2], (1, 2)), ({"a": 1}, {"b": 1}), ([[1]], [1])])
def test_trees_of_other_forms_do_not_go_together(tree, other):
    with pytest.raises(ValueError):
        pytree.tree_map(lambda a, b: a, tree, other)


def test_a_tree_wants_as_many_leaves_as_it_has():
    with pytest.raises(ValueError, match="3 items"):
        pytree.tree_unflatten([1, 2], pytree.tree_structure([0, (0, 0)]))


def test_leaves_by_type_and_by_choice():
    x = whet.ones(2)
    got = pytree.tree_map_only(whet.Tensor, lambda t: t * 2, {"x": x, "n": 3})
    assert got["x"].equal(x * 2) and got["n"] == 3
    assert pytree.tree_leaves([(1, 2), 3], is_leaf=lambda t: isinstance(t, tuple)) == [(1, 2), 3]
    assert pytree.tree_all(lambda n: n > 0, [1, (2,)]) and pytree.tree_any(bool, [0, [1]])


def test_a_class_of_the_user_is_a_container():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b
    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts))
    try:
        got = pytree.tree_map(lambda n: n + 1, [Pair(1, (2,))])
        assert (got[0].a, got[0].b) == (2, (3,))
        with pytest.raises(ValueError, match="already"):
            pytree.register_pytree_node(Pair, None, None)
    finally:
        del pytree.SUPPORTED_NODES[Pair]


def test_a_traced_function_goes_through_trees():
    def f(state, x):
        return pytree.tree_map(lambda s: s * x, state)
    traced = whet.jit.trace(f)
    for i in range(5):
        state, x = {"h": (whet.randn(3), whet.randn(3))}, whet.randn(3) + i
        for a, b in zip(pytree.tree_leaves(traced(state, x)), pytree.tree_leaves(f(state, x))):
            assert a.equal(b)
    assert "of 5 calls replayed" in str(traced) and "0 of 5" not in str(traced)


# ---- marks for compilers -------------------------------------------------------------------------
def test_scripted_functions_are_traced_functions():
    @whet.jit.script
    def gelu(x):
        return x * 0.5 * (1.0 + (x * 0.7978845608).tanh())
    assert isinstance(gelu, whet.jit.Traced)
    x = whet.randn(4)
    assert gelu(x).equal(x * 0.5 * (1.0 + (x * 0.7978845608).tanh()))
    assert whet.jit.script(Point) is Point


def test_marks_leave_methods_as_they_are():
    class Block(nn.Module):
        scale: whet.jit.Final[int]

        def __init__(self):
            super().__init__()
            self.scale = 3

        @whet.jit.ignore
        def a(self, x):
            return x * self.scale

        @whet.jit.ignore(drop=True)
        def b(self, x):
            return x + 1

        @whet.jit.unused
        def forward(self, x):
            whet._assert(x.ndim == 1, "a vector")
            if whet.jit.is_scripting() or whet.jit.is_tracing():
                return x
            return self.b(self.a(whet.jit.annotate(whet.Tensor, x)))
    block = Block()
    traced = whet.jit.trace(block)
    for _ in range(4):
        assert traced(whet.ones(2)).tolist() == [4.0, 4.0]
    assert traced.explain(data=True)["calls"]["replayed"]
    with pytest.raises(AssertionError, match="a vector"):
        block(whet.ones(2, 2))


# ---- the surroundings ----------------------------------------------------------------------------
def test_devices_have_no_generators_of_their_own():
    assert get_device_states(whet.ones(2)) == ([], [])
    set_device_states([], [])
    with pytest.raises(ValueError, match="generators"):
        set_device_states([0], [whet.get_rng_state()])


def test_versions():
    assert whet.version.__version__ == whet.__version__ and whet.version.cuda is None


def test_kernels_of_attention_are_one():
    q = whet.randn(2, 2, 5, 4)
    want = nn.functional.scaled_dot_product_attention(q, q, q)
    for chosen in (SDPBackend.MATH, [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
        with sdpa_kernel(chosen):
            assert nn.functional.scaled_dot_product_attention(q, q, q).equal(want)
    cuda = whet.backends.cuda
    cuda.enable_flash_sdp(False)
    assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    cuda.enable_flash_sdp(True)
    with cuda.sdp_kernel(enable_flash=False):
        assert nn.functional.scaled_dot_product_attention(q, q, q).equal(want)
    for wrong in ("flash", [], [1]):
        with pytest.raises((AssertionError, TypeError)), sdpa_kernel(wrong):
            pass


def test_a_number_for_each_dimension():
    assert _pair(3) == (3, 3) and _pair([1, 2]) == (1, 2) and _ntuple(4)("ab") == ("a", "b")
    assert _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)


def test_formats_of_memory_have_types():
    x = whet.zeros(1, 2, 3, 3).contiguous(memory_format=whet.channels_last)
    assert isinstance(whet.channels_last, whet.memory_format)
    assert isinstance(x.layout, whet.layout)
    assert pickle.loads(pickle.dumps(whet.channels_last)) is whet.channels_last
