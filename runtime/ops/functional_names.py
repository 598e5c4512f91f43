"""Functions of `nn.functional` that PyTorch has at its top level too, and in-place functions.

Most are the same functions. A few have another order of parameters there, and are written out.
"""
from . import activation, docstrings, dropout, loss, margin_losses, norm
from .declared_signatures import declare
from .embedding import embedding as embedded
from .out_arguments import with_out
from .out_types import OutType
from .surface import FUNCTIONS, METHODS, function

for _fn in (activation.celu, activation.selu, activation.rrelu, activation.threshold,
            dropout.alpha_dropout, dropout.feature_alpha_dropout,
            loss.poisson_nll_loss, margin_losses.triplet_margin_loss):
    FUNCTIONS[_fn.__name__] = _fn
FUNCTIONS["native_channel_shuffle"] = FUNCTIONS["channel_shuffle"]


@function(method=False)
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    """Mean 0 and variance 1 over the last dimensions, then weight and bias. See
    `nn.functional.layer_norm`.

    >>> import whet
    >>> whet.layer_norm(whet.tensor([1., 3.]), (2,))
    tensor([-1.0000,  1.0000])
    """
    return norm.layer_norm(input, normalized_shape, weight, bias, eps)


@function(method=False)
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps,
               cudnn_enabled=True):
    """Normalise each channel. The parameters stand in another order than in
    `nn.functional.batch_norm`.

    >>> import whet
    >>> mean, var = whet.zeros(1), whet.ones(1)
    >>> whet.batch_norm(whet.tensor([[1.], [3.]]), None, None, mean, var, True, 0.1, 1e-5)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    return norm.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@function(method=False)
def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps,
                  cudnn_enabled=True):
    """Normalise each channel of each sample. The parameters stand in another order than in
    `nn.functional.instance_norm`.

    >>> import whet
    >>> whet.instance_norm(whet.tensor([[[1., 3.]]]), None, None, None, None, True, 0.1, 1e-5)
    tensor([[[-1.0000,  1.0000]]])
    """
    return norm.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats,
                              momentum, eps)


@function(method=False)
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Rows of a table. The table comes first, other than in `nn.functional.embedding`.

    >>> import whet
    >>> whet.embedding(whet.tensor([[1., 2.], [3., 4.]]), whet.tensor([1]))
    tensor([[3., 4.]])
    """
    return embedded(indices, weight, None if padding_idx < 0 else padding_idx,
                    scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


@function(method=False)
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """Normalise groups of channels of each sample. See `nn.functional.group_norm`.

    >>> import whet
    >>> whet.group_norm(whet.tensor([[1., 3.]]), 1)
    tensor([[-1.0000,  1.0000]])
    """
    return norm.group_norm(input, num_groups, weight, bias, eps)


def in_place(fn):
    """`NAME_` of a function with the parameter `inplace`."""
    def write(input, *args, **kwargs):
        return fn(input, *args, **kwargs, inplace=True)
    write.__name__ = write.__qualname__ = f"{fn.__name__}_"
    write.__module__ = "whet"
    write.__doc__ = docstrings.of_in_place(fn.__name__, fn.__doc__)
    return declare(write, fn, lambda parameters: [p for p in parameters if p.name != "inplace"])


for _name in ("celu", "selu", "rrelu", "threshold"):
    FUNCTIONS[f"{_name}_"] = in_place(FUNCTIONS[_name])
FUNCTIONS["threshold"] = with_out(activation.threshold, types=OutType.CASTS)
for _name in ("addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_", "arctanh_",
              "as_strided_", "fix_", "index_put_", "negative_", "resize_as_", "round_"):
    FUNCTIONS[_name] = METHODS[_name]


def _trained(fn):
    """A dropout as it is at the top level: what `nn.functional` calls `training` is `train`."""
    def call(input, p, train):
        return fn(input, p, train)
    call.__name__ = call.__qualname__ = fn.__name__
    call.__doc__ = docstrings.with_example(
        fn.__doc__.partition("\n")[0], f"whet.{fn.__name__}(whet.ones(2), 0.5, train=False)",
        "tensor([1., 1.])")
    return function(method=False)(call)


for _fn in (dropout.dropout, dropout.alpha_dropout, dropout.feature_alpha_dropout):
    _trained(_fn)
    _trained(in_place(_fn))
