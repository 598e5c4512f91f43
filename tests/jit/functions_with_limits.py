"""Functions that have a limit: of some sizes and some numbers they make an error.

`FUNCTIONS`: name -> (a function of a tensor and a number, the tensor's shape). The names are the
calls themselves. Each is made at sizes and with numbers on both sides of its limit, traced and
eagerly: see test_functions_with_limits.py.
"""
import whet
from whet import nn

# "call at shape": of a tensor `x` and a number `n`
CALLS = """
F.pad(x, (n, 1), "reflect") at 1, 2, 5
F.pad(x, (1, 1, n, 0), "reflect") at 1, 2, 5, 4
F.pad(x, (n, 1), "circular") at 1, 2, 5
F.pad(x, (n, 1), "replicate") at 1, 2, 5
F.pad(x, (n, 1)) at 1, 2, 5
F.pad(x, (n, -n), "replicate") at 1, 2, 5
F.pad(x, (-n, 1)) at 1, 2, 5
x.roll(n, 0) at 5, 2
x.topk(n, 0) at 5, 2
x.kthvalue(n, 0) at 5, 2
x.narrow(0, n, 2) at 5, 2
x.narrow(0, 1, n) at 5, 2
x.select(0, n) at 5, 2
x[n] at 5, 2
x[-n] at 5, 2
x[n:] at 5, 2
x[:n].sum() at 5, 2
x[::n] at 5, 2
x[:, n, None] at 2, 5
x.view(-1)[n].item() at 3, 4
[x[i] for i in range(n)] at 5, 2
x.chunk(n) at 5, 2
x.split(n) at 5, 2
x.split([n, 5 - n]) at 5, 2
x.tensor_split(n) at 5, 2
x.tensor_split([n]) at 5, 2
x.unfold(0, n, 1) at 5, 2
x.unfold(0, 2, n) at 5, 2
x.diagonal(n) at 4, 5
whet.diagflat(x, n) at 3
whet.diag(x, n) at 3
whet.diag_embed(x, n) at 2, 3
x.triu(n) at 4, 5
x.tril(n) at 4, 5
x.repeat(n, 1) at 4, 5
x.tile((n,)) at 4, 5
x.expand(n, 5) at 1, 5
x.expand(n) at 1
x.view(n, -1) at 4, 3
x.view(n, 12 // n if n else 0) at 4, 3
x.reshape(2, n, -1) at 4, 3
x.unflatten(0, (n, -1)) at 4, 3
x.flatten(n) at 4, 3, 2
x.transpose(0, n) at 4, 3, 2
x.movedim(0, n) at 4, 3, 2
x.sum(n) at 4, 3, 2
x.cumsum(n) at 4, 3, 2
x.softmax(n) at 4, 3, 2
x.sort(n) at 4, 3, 2
x.unsqueeze(n) at 4, 3, 2
x.squeeze(n) at 4, 1, 2
x.flip(n) at 4, 3, 2
x.rot90(n) at 4, 3
x.diff(n, 0) at 5
whet.cat([x, x], n) at 4, 3, 2
whet.stack([x, x], n) at 4, 3, 2
x.repeat_interleave(n, 0) at 4, 3
F.group_norm(x, n) at 2, 4, 3
F.group_norm(x, n) at 2, 12
F.layer_norm(x, (n,)) at 5, 4
F.local_response_norm(x, n) at 1, 5, 2
F.pixel_shuffle(x, n) at 1, 36, 2, 2
F.pixel_unshuffle(x, n) at 1, 1, 12, 12
F.channel_shuffle(x, n) at 1, 12, 2
F.glu(x, n) at 4, 3, 2
F.max_pool1d(x, n) at 1, 2, 5
F.max_pool2d(x, 2, n) at 1, 2, 5, 5
F.max_pool2d(x, 3, 1, n) at 1, 2, 5, 5
F.max_pool2d(x, 2, 1, 0, n) at 1, 2, 5, 5
F.avg_pool1d(x, n, 1) at 1, 2, 5
F.avg_pool2d(x, 3, 1, n) at 1, 2, 5, 5
F.avg_pool2d(x, 3, 1, 0, divisor_override=n) at 1, 2, 5, 5
F.adaptive_avg_pool1d(x, n) at 1, 2, 5
F.adaptive_max_pool2d(x, (n, 2)) at 1, 2, 5, 5
F.lp_pool1d(x.abs(), 2, n) at 1, 2, 5
F.max_unpool1d(x, whet.tensor([[[0, 2]]]), 2, output_size=(1, 1, n)) at 1, 1, 2
F.conv1d(x, whet.ones(3, 2, 2), stride=n) at 1, 2, 5
F.conv1d(x, whet.ones(3, 2, 2), padding=n) at 1, 2, 5
F.conv1d(x, whet.ones(3, 2, 3), dilation=n) at 1, 2, 5
F.conv1d(x, whet.ones(4, 2, 2), groups=n) at 1, 4, 5
F.conv1d(x[None, None], whet.ones(1, 1, n)) / n at 5
F.conv_transpose1d(x, whet.ones(2, 3, 3), padding=n) at 1, 2, 5
F.conv_transpose1d(x, whet.ones(2, 3, 3), stride=3, output_padding=n) at 1, 2, 5
F.unfold(x, n) at 1, 2, 5, 4
F.fold(x, (n, 2), 1) at 1, 2, 8
F.interpolate(x, size=n) at 1, 2, 5
F.interpolate(x, size=n, mode="linear") at 1, 2, 5
F.interpolate(x, scale_factor=n) at 1, 2, 5
F.one_hot(whet.tensor([0, 2]), n) at 1
F.embedding(whet.tensor([n]), x) at 5, 2
F.embedding(whet.tensor([1]), x, padding_idx=n) at 5, 2
F.cross_entropy(x, whet.tensor([n, 1])) at 2, 5
F.cross_entropy(x, whet.tensor([2, 1]), ignore_index=n) at 2, 5
F.dropout(x, n / 8) at 5
F.scaled_dot_product_attention(x, x[:, :, :n], x[:, :, :n]) at 1, 2, 5, 4
F.pdist(x, n) at 5, 2
whet.eye(n) + x at 1
whet.zeros(n, 2) + x at 1
whet.full((n,), n) + x at 1
whet.arange(n) + x at 1
whet.arange(5, n) + x at 1
whet.arange(0, 5, n) + x at 1
whet.linspace(0, 1, n) + x at 1
whet.logspace(0, 1, n) + x at 1
whet.hann_window(n) + x at 1
whet.tril_indices(n, 4) + x at 1
whet.randperm(n) + x at 1
whet.randint(n, (3,)) + x at 1
whet.randint(3, n, (3,)) + x at 1
whet.multinomial(x.abs() + 0.1, n) at 5
whet.multinomial(x.abs() + 0.1, n, replacement=True) at 5
whet.bernoulli(x, n / 4) at 5
whet.combinations(x, n) at 5
whet.vander(x, n) at 5
whet.histc(x, n) at 5
whet.bincount(whet.tensor([0, 2]), minlength=n) + x at 1
whet.linalg.matrix_power(x, n) at 3, 3
whet.linalg.vector_norm(x, n) at 5, 2
whet.linalg.matrix_norm(x, n) at 5, 2
whet.fft.fft(x, n) at 5
whet.fft.rfft(x, n) at 5
whet.fft.irfft(x + 0j, n) at 5
whet.stft(x, n, return_complex=True, window=None) at 12
whet.stft(x, 4, n, return_complex=True, window=None) at 12
x.as_strided((n,), (2,)) at 12
x.as_strided((3,), (n,)) at 12
x.as_strided((3,), (2,), n) at 12
x.gather(0, whet.tensor([[n]])) at 5, 2
x.index_select(0, whet.tensor([n, 0])) at 5, 2
x.select_scatter(whet.ones(2), 0, n) at 5, 2
x.slice_scatter(whet.ones(2, 2), 0, n, n + 2) at 5, 2
x.diagonal_scatter(whet.ones(3), n) at 4, 5
with_a_row(x, n) at 5, 2
with_rows(x, n) at 5, 2
x.renorm(2, 0, n) at 5, 2
x.clamp(-n, n) at 5, 2
x.quantile(n / 4) at 5
x.var(0, correction=n) at 5, 2
whet.cov(x, correction=n) at 3, 4
whet.cdist(x, x + 1, p=n) at 5, 2
whet.polygamma(n, x.abs() + 0.5) at 5
whet.mvlgamma(x.abs() + 3, n) at 5
whet.special.chebyshev_polynomial_t(x, n) at 5
whet.arange(5) << n at 1
whet.arange(5) // n at 1
whet.arange(5) ** n at 1
x % n at 5
x ** n at 5
whet.tensordot(x, x, n) at 3, 3
whet.block_diag(*[x] * n) at 2
whet.where(whet.ones(n) > 0, x, 0) at 3, 4
x.new_zeros(n, 2) at 2
x @ whet.ones(n, 2) at 3, 4
x + whet.ones(n) at 3, 4
whet.ones_like(x)[:, :n] @ whet.ones(n, 2) at 3, 4
"""


def with_a_row(x, n):
    """A copy in which a row is ones."""
    y = x.clone()
    y[n] = 1.0
    return y


def with_rows(x, n):
    """A copy in which two rows are ones."""
    y = x.clone()
    y[n:n + 2] = whet.ones(2, 2)
    return y


def function(call):
    """The function that a call is the body of."""
    names = {"whet": whet, "F": nn.functional, "with_a_row": with_a_row, "with_rows": with_rows}
    return eval(f"lambda x, n: {call}", names)


def parted(line):
    """(function, shape) of a line."""
    call, _, shape = line.rpartition(" at ")
    return function(call), tuple(map(int, shape.split(",")))


FUNCTIONS = {line: parted(line) for line in CALLS.strip().split("\n")}
