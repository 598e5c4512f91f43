"""What functions of ours compute of sizes, and give to ops, they compute of sizes that a trace
follows (`registry.sizes_of`): of plain ones it is the same for all calls, as far as a recording can
tell."""
import pytest
import whet
import whet.nn.functional as F
from whet import jit, nn, size_arguments
from whet.autograd import modes
from whet.ops.observer import Observer
from whet.ops.registry import execute
from whet.size import Size

ROWS = 7                                 # no other size is that


class OfSizes:
    """A number that was computed of a size. As one of a trace's it stays what it is on its way to
    an op."""

    def __whet_tensor__(self):
        return None


class Whole(OfSizes, int):
    pass


class Real(OfSizes, float):
    pass


def computed(x):
    return Whole(x) if type(x) is int else Real(x) if type(x) is float else x


for kind in (Whole, Real):
    for name in "add sub mul floordiv truediv mod pow".split():
        for method in (f"__{name}__", f"__r{name}__"):
            def compute(self, other, of=getattr(kind.__mro__[2], method)):
                return computed(of(self, other))
            setattr(kind, method, compute)


def plain(x):
    """Without such numbers."""
    if isinstance(x, OfSizes):
        return int(x) if isinstance(x, int) else float(x)
    return tuple(map(plain, x)) if isinstance(x, tuple) else x


class Looks(Observer):
    """Gives such numbers for sizes that are not followed, and notes to which ops they come."""
    records = False

    def __init__(self):
        self.found = []

    def sizes(self, t, for_user):
        shape = t._array.shape
        return Size([Whole(n) if n == ROWS and not for_user else n for n in shape])

    def __call__(self, op, inputs, attrs):
        numbers = [*inputs, *(x for k, x in attrs.items() if k not in op.size_attrs)]
        if any(isinstance(x, OfSizes) for x in numbers):
            self.found.append(op.name)
        return execute(op, plain(tuple(inputs)), {k: plain(x) for k, x in attrs.items()})


def looked_at(function, *args):
    """The ops to which numbers came."""
    look = Looks()
    size_arguments.followers.add(look)
    before, modes.state.observers = modes.state.observers, (look,)
    modes.refresh()
    try:
        function(*args)
    finally:
        modes.state.observers = before
        modes.refresh()
        size_arguments.followers.discard(look)
    return look.found


FUNCTIONS = {
    "std": lambda x: x.std(0),
    "var": lambda x: whet.var(x),
    "var_mean": lambda x: whet.var_mean(x),
    "cov": lambda x: whet.cov(x.T),
    "corrcoef": lambda x: whet.corrcoef(x.T),
    "quantile": lambda x: x.quantile(0.3, dim=0),
    "nanquantile": lambda x: x.nanquantile(0.3),
    "median": lambda x: x.median(0),
    "nanmean": lambda x: whet.nanmean(x, 0),
    "trapezoid": lambda x: whet.trapezoid(x, dim=0),
    "gradient": lambda x: whet.gradient(x, dim=0),
    "logsumexp": lambda x: x.logsumexp(0),
    "cdist": lambda x: whet.cdist(x, x),
    "pdist": lambda x: F.pdist(x),
    "matrix_rank": lambda x: whet.linalg.matrix_rank(x),
    "pinv": lambda x: whet.linalg.pinv(x),
    "lstsq": lambda x: whet.linalg.lstsq(x, x[:, :1]),
    "renorm": lambda x: x.renorm(2, 0, 1.0),
    "ortho": lambda x: whet.fft.fft(x, dim=0, norm="ortho"),
    "histc": lambda x: whet.histc(x, 5),
    "combinations": lambda x: whet.combinations(x[:, 0]),
    "kl_div": lambda x: F.kl_div(x, x.exp(), reduction="batchmean"),
    "mse_loss": lambda x: F.mse_loss(x, x + 1),
    "huber_loss": lambda x: F.huber_loss(x, x + 1),
    "cross_entropy": lambda x: F.cross_entropy(x, x.argmax(1), label_smoothing=0.1),
    "nll_loss": lambda x: F.nll_loss(x, x.argmax(1)),
    "bce": lambda x: F.binary_cross_entropy_with_logits(x, x.sigmoid()),
    "poisson": lambda x: F.poisson_nll_loss(x, x.abs()),
    "cosine": lambda x: F.cosine_embedding_loss(x, x + 1, whet.ones(ROWS)),
    "triplet": lambda x: F.triplet_margin_loss(x, x + 1, x.flip(0)),
    "multi_margin": lambda x: F.multi_margin_loss(x, x.argmax(1)),
    "normalize": lambda x: F.normalize(x, dim=0),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "group_norm": lambda x: F.group_norm(x.T[None], 2),
    "instance_norm": lambda x: F.instance_norm(x.T[None]),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "avg_pool": lambda x: F.avg_pool1d(x.T[None], 3, 1, padding=1, count_include_pad=False),
    "adaptive": lambda x: F.adaptive_avg_pool1d(x.T[None], 3),
    "entropy": lambda x: whet.distributions.Categorical(logits=x).entropy(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_operand_is_computed_of_plain_sizes(name):
    assert looked_at(FUNCTIONS[name], whet.randn(ROWS, 4)) == []


def test_one_that_is_would_be_found():
    """`grid_sample` computes with the image's sizes, which data hardly decides."""
    places = whet.zeros(1, 2, 2, 2)
    assert looked_at(lambda x: F.grid_sample(x[None, None], places, align_corners=False),
                     whet.randn(ROWS, 4))


@pytest.mark.parametrize("cell", [nn.LSTMCell, nn.GRUCell])
def test_a_cell_asks_nothing_of_the_sizes_of_its_gates(cell):
    """A loop over moments has hundreds of them."""
    model, moments = cell(3, 5), whet.randn(4, 2, 3)

    def f(moments):
        state = None
        for x in moments.unbind(0):
            state = model(x, state)
        return state
    traced = jit.trace(f)
    traced(moments)
    assert not [n for n in traced.recorded.nodes if n.kind == "guard"]


def test_pieces_are_all_of_a_tensor_at_other_sizes_too():
    """Weights of a cell that do not fit each other: eager says so, whatever was recorded."""
    def f(x, w):
        return whet.lstm_cell(x, (x, x), w, w)[0]
    traced = jit.trace(f)
    for n in (3, 4, 5, 6, 7):
        x, w = whet.randn(2, n), whet.randn(4 * n, n)
        assert traced(x, w).tolist() == f(x, w).tolist()
        for wrong in (4 * n + 2, 4 * n - 1):
            with pytest.raises(RuntimeError):
                traced(x, whet.randn(wrong, n))


@pytest.mark.parametrize("n", [7, 8])
def test_one_question_is_asked_where_a_tensor_is_cut_into_chunks(n):
    traced = jit.trace(lambda x: x.chunk(4, 1))
    traced(whet.randn(2, n))
    assert len([n for n in traced.recorded.nodes if n.kind == "guard"]) == 1
