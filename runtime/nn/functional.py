"""Functions of neural networks: `import whet.nn.functional as F`."""
import types as _types

from ..ops import activation_formulas as _formulas
from ..ops.activation import (
    activation as _activation,
)
from ..ops.activation import (
    celu,
    elu,
    gelu,
    glu,
    gumbel_softmax,
    hardtanh,
    prelu,
    rrelu,
    selu,
    softmin,
    softplus,
    softshrink,
    threshold,
)
from ..ops.argument_guards import guarded as _guarded
from ..ops.attention import scaled_dot_product_attention
from ..ops.contract import linear
from ..ops.ctc import ctc_loss
from ..ops.distances import cosine_similarity, pairwise_distance, pdist
from ..ops.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from ..ops.einsum import bilinear
from ..ops.embedding import embedding, embedding_bag, one_hot
from ..ops.fractional_pools import POOLS as _FRACTIONAL_POOLS
from ..ops.functional_names import in_place as _in_place
from ..ops.grid_sampling import (
    GRID_SAMPLE_INTERPOLATION_MODES,
    GRID_SAMPLE_PADDING_MODES,
    grid_sample,
)
from ..ops.grouped_products import grouped_mm
from ..ops.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
)
from ..ops.margin_losses import (
    cosine_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from ..ops.norm import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from ..ops.pad import pad
from ..ops.pools import POOLS as _POOLS
from ..ops.pools_with_indices import WITH_INDICES as _WITH_INDICES
from ..ops.resize import (
    affine_grid,
    interpolate,
    pixel_shuffle,
    pixel_unshuffle,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from ..ops.sliding_blocks import fold, unfold
from ..ops.softmax import log_softmax, softmax
from ..ops.surface import FUNCTIONS as _F
from .attention_heads import multi_head_attention_forward as multi_head_attention_forward
from .linear_cross_entropy import linear_cross_entropy

conv1d, conv2d, conv3d, conv_tbc = _F["conv1d"], _F["conv2d"], _F["conv3d"], _F["conv_tbc"]
conv_transpose1d, conv_transpose2d, conv_transpose3d = _F["conv_transpose1d"], _F[
    "conv_transpose2d"], _F["conv_transpose3d"]
channel_shuffle = native_channel_shuffle = _F["channel_shuffle"]
globals().update({**_POOLS, **_FRACTIONAL_POOLS, **_WITH_INDICES})

relu = _activation("relu", _formulas.relu.op)
relu6 = _activation("relu6", _formulas.relu6.op)
leaky_relu = _activation("leaky_relu", _formulas.leaky_relu.op, "negative_slope=0.01")
silu = _activation("silu", _formulas.silu.op)
mish = _activation("mish", _formulas.mish.op)
hardsigmoid = _activation("hardsigmoid", _formulas.hardsigmoid.op)
hardswish = _activation("hardswish", _formulas.hardswish.op)
logsigmoid, hardshrink, softsign, tanhshrink = (
    _F[n] for n in ("logsigmoid", "hardshrink", "softsign", "tanhshrink"))
tanh, sigmoid = _F["tanh"], _F["sigmoid"]


def assert_int_or_pair(arg, arg_name, message):
    """Raise AssertionError where an argument is neither a number nor two of them.

    >>> from whet.nn.functional import assert_int_or_pair
    >>> assert_int_or_pair((2, 3), "kernel_size", "{} must be an int or a pair")
    """
    assert isinstance(arg, int) or len(arg) == 2, message.format(arg_name)


relu_, celu_, elu_, selu_, hardtanh_, leaky_relu_, rrelu_, threshold_ = map(
    _in_place, (relu, celu, elu, selu, hardtanh, leaky_relu, rrelu, threshold))

globals().update(_guarded(globals(), __name__))

__all__ = sorted(n for n, x in globals().items()
                 if not n.startswith("_") and not isinstance(x, _types.ModuleType))
