# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any, Callable, Literal, overload
from whet.dtypes import dtype
from whet.tensor import Tensor
from whet.types import Dims, Ints, Number, Scalar, Shape


GRID_SAMPLE_INTERPOLATION_MODES: dict[Any, Any]
GRID_SAMPLE_PADDING_MODES: dict[Any, Any]
def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor: """The means of windows that are chosen to give `output_size`, over 1 spatial dimension."""
def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor: """The means of windows that are chosen to give `output_size`, over 2 spatial dimensions."""
def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor: """The means of windows that are chosen to give `output_size`, over 3 spatial dimensions."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: Literal[False] = False) -> Tensor: """The largest values of windows that are chosen to give `output_size`, over 1 spatial dimension."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: """The largest values of windows that are chosen to give `output_size`, over 1 spatial dimension."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> Any: """The largest values of windows that are chosen to give `output_size`, over 1 spatial dimension."""
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Ints, return_indices: bool = False) -> tuple[Tensor, Tensor]: """`adaptive_max_pool1d`, and the places of the largest values."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: Literal[False] = False) -> Tensor: """The largest values of windows that are chosen to give `output_size`, over 2 spatial dimensions."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: """The largest values of windows that are chosen to give `output_size`, over 2 spatial dimensions."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> Any: """The largest values of windows that are chosen to give `output_size`, over 2 spatial dimensions."""
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Ints, return_indices: bool = False) -> tuple[Tensor, Tensor]: """`adaptive_max_pool2d`, and the places of the largest values."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: Literal[False] = False) -> Tensor: """The largest values of windows that are chosen to give `output_size`, over 3 spatial dimensions."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: """The largest values of windows that are chosen to give `output_size`, over 3 spatial dimensions."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> Any: """The largest values of windows that are chosen to give `output_size`, over 3 spatial dimensions."""
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: Ints, return_indices: bool = False) -> tuple[Tensor, Tensor]: """`adaptive_max_pool3d`, and the places of the largest values."""
def affine_grid(theta: Tensor, size: Shape, align_corners: bool | None = None) -> Tensor: """The sampling grid of an affine map."""
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor: """Dropout that keeps mean and variance of self-normalising networks."""
def assert_int_or_pair(arg: Any, arg_name: str, message: str) -> None: """Raise AssertionError where an argument is neither a number nor two of them."""
def avg_pool1d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor: """The mean of each window, over 1 spatial dimension."""
def avg_pool2d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None, *, out: Tensor | None = None) -> Tensor: """The mean of each window, over 2 spatial dimensions."""
def avg_pool3d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None, *, out: Tensor | None = None) -> Tensor: """The mean of each window, over 3 spatial dimensions."""
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor: ...
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor: """sum over i, j of input1[i] * weight[k, i, j] * input2[j]"""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor: """The cross entropy of probabilities with targets in [0, 1]."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', pos_weight: Tensor | None = None) -> Tensor: """The cross entropy of sigmoid(input) with targets in [0, 1], computed stably."""
def celu(input: Tensor, alpha: Number = 1.0, inplace: bool = False) -> Tensor: """x where positive, alpha * (exp(x / alpha) - 1) elsewhere."""
def celu_(input: Tensor, alpha: Number = 1.0) -> Tensor: """`celu`, in place."""
def channel_shuffle(input: Tensor, groups: int) -> Tensor: """Channels dealt out over the groups."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1) -> Tensor: """The 1-d convolution (cross-correlation) of an input with a weight."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1) -> Tensor: """The 2-d convolution (cross-correlation) of an input with a weight."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints | str = 0, dilation: Ints = 1, groups: int = 1) -> Tensor: """The 3-d convolution (cross-correlation) of an input with a weight."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor: """1-d convolution of (time, batch, channel) with a weight of (width, in, out)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1) -> Tensor: """The 1-d transposed convolution: the gradient of `conv1d` for its input."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1) -> Tensor: """The 2-d transposed convolution: the gradient of `conv2d` for its input."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1) -> Tensor: """The 3-d transposed convolution: the gradient of `conv3d` for its input."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor: """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: Dims = 1, eps: float = 1e-08) -> Tensor: """The cosine of the angle between vectors along `dim`."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean', label_smoothing: float = 0.0) -> Tensor: """The cross entropy of logits with class indices or class probabilities."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[int], target_lengths: Tensor | Sequence[int], blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False) -> Tensor: """Connectionist temporal classification: minus the log-probability of all alignments of the targets."""
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor: """Zero elements with probability p and scale the rest by 1 / (1 - p)."""
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor: """Zero whole channels with probability p and scale the rest by 1 / (1 - p)."""
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor: """Zero whole channels with probability p and scale the rest by 1 / (1 - p)."""
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor: """Zero whole channels with probability p and scale the rest by 1 / (1 - p)."""
def elu(input: Tensor, alpha: Number = 1.0, inplace: bool = False) -> Tensor: """x where positive, alpha * (exp(x) - 1) elsewhere."""
def elu_(input: Tensor, alpha: Number = 1.0) -> Tensor: """`elu`, in place."""
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor: """Rows of `weight` at the indices."""
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None) -> Tensor: """The sum, mean or maximum of rows of `weight`, bag by bag."""
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor: """`alpha_dropout` of whole channels."""
def fold(input: Tensor, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Tensor: """Sum columns of sliding blocks back into an image."""
def fractional_max_pool2d(input: Tensor, kernel_size: Ints, output_size: Ints | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> Tensor: """The largest value of each window, over 2 spatial dimensions; windows are at pseudo-random distances."""
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: Ints, output_size: Ints | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> Tensor: """The largest value of each window, over 2 spatial dimensions; windows are at pseudo-random distances."""
def fractional_max_pool3d(input: Tensor, kernel_size: Ints, output_size: Ints | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> Tensor: """The largest value of each window, over 3 spatial dimensions; windows are at pseudo-random distances."""
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: Ints, output_size: Ints | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> Tensor: """The largest value of each window, over 3 spatial dimensions; windows are at pseudo-random distances."""
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-06, reduction: str = 'mean') -> Tensor: """The negative log likelihood of a normal variable with the given variance."""
def gelu(input: Tensor, approximate: str = 'none', *, out: Tensor | None = None) -> Tensor: """x times the normal distribution function of x (or its tanh approximation)."""
def glu(input: Tensor, dim: Dims = -1) -> Tensor: """One half of the input times the sigmoid of the other."""
def grid_sample(input: Tensor, grid: Tensor, mode: str = 'bilinear', padding_mode: str = 'zeros', align_corners: bool | None = None) -> Tensor: """Sample an image at the positions of a grid in [-1, 1]."""
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor: """Normalise groups of channels of each sample, then weight and bias per channel."""
def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: dtype | None = None) -> Tensor: """A product for each group: `offs` says where the groups end in the dimension that they share."""
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: Dims = -1) -> Tensor: """A sample of a relaxed (or, with a straight-through gradient, a hard) one-hot variable."""
def hardshrink(input: Tensor, lambd: Number = 0.5, *, out: Tensor | None = None) -> Tensor: """input, 0 where |input| <= lambd."""
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor: """(input + 3) / 6 limited to [0, 1]."""
def hardswish(input: Tensor, inplace: bool = False) -> Tensor: """input * hardsigmoid(input), elementwise."""
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor: """x, no less than `min_val` and no more than `max_val`."""
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor: """`hardtanh`, in place."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor: """input where the target is 1, max(0, margin - input) where it is -1."""
def huber_loss(input: Tensor, target: Tensor, reduction: str = 'mean', delta: float = 1.0, weight: Tensor | None = None) -> Tensor: """delta times the smooth L1 loss with beta = delta."""
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor: """Normalise each channel of each sample."""
def interpolate(input: Tensor, size: Ints | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor: """Resize the spatial dimensions."""
def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', log_target: bool = False) -> Tensor: """target * (log target - input), the input being log-probabilities."""
def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor: """The absolute difference."""
def layer_norm(input: Tensor, normalized_shape: Ints, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor: """Mean 0 and variance 1 over the last dimensions, then weight and bias."""
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor: """input where positive, negative_slope * input elsewhere."""
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor: """`leaky_relu`, in place."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor: """input @ weight.T + bias"""
def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None, reduction: str = 'mean', ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None) -> Tensor: ...
def local_response_norm(input: Tensor, size: int, alpha: Number = 0.0001, beta: Number = 0.75, k: float = 1.0) -> Tensor: """Divide by a power of the mean square over neighbouring channels."""
def log_softmax(input: Tensor, dim: Dims | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor: """log(softmax(x)) along `dim`, without overflow and underflow."""
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor: """log(sigmoid(input)), without underflow."""
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> Tensor: """The p-norm of each window, over 1 spatial dimension."""
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> Tensor: """The p-norm of each window, over 2 spatial dimensions."""
def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> Tensor: """The p-norm of each window, over 3 spatial dimensions."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor: """max(0, -target * (input1 - input2) + margin)"""
@overload
def max_pool1d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor: """The largest value of each window, over 1 spatial dimension."""
@overload
def max_pool1d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: """The largest value of each window, over 1 spatial dimension."""
@overload
def max_pool1d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any: """The largest value of each window, over 1 spatial dimension."""
def max_pool1d_with_indices(input: Tensor, kernel_size: Ints, stride: Shape | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False, return_indices: bool = False) -> tuple[Tensor, Tensor]: """`max_pool1d`, and the places of the largest values."""
@overload
def max_pool2d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor: """The largest value of each window, over 2 spatial dimensions."""
@overload
def max_pool2d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: """The largest value of each window, over 2 spatial dimensions."""
@overload
def max_pool2d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any: """The largest value of each window, over 2 spatial dimensions."""
def max_pool2d_with_indices(input: Tensor, kernel_size: Ints, stride: Shape | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False, return_indices: bool = False) -> tuple[Tensor, Tensor]: """`max_pool2d`, and the places of the largest values."""
@overload
def max_pool3d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor: """The largest value of each window, over 3 spatial dimensions."""
@overload
def max_pool3d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: """The largest value of each window, over 3 spatial dimensions."""
@overload
def max_pool3d(input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any: """The largest value of each window, over 3 spatial dimensions."""
def max_pool3d_with_indices(input: Tensor, kernel_size: Ints, stride: Shape | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False, return_indices: bool = False) -> tuple[Tensor, Tensor]: """`max_pool3d`, and the places of the largest values."""
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, output_size: Shape | None = None) -> Tensor: ...
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, output_size: Shape | None = None) -> Tensor: ...
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, output_size: Shape | None = None) -> Tensor: ...
def mish(input: Tensor, inplace: bool = False) -> Tensor: """input * tanh(softplus(input)), elementwise."""
def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor: """The squared difference."""
def multi_head_attention_forward(query: Tensor, key: Any, value: Scalar, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False) -> tuple[Tensor, Tensor | None]: ...
def multi_margin_loss(input: Tensor, target: Tensor, p: float = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor: """The hinge loss of the target class against all others."""
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor: """The hinge loss of every target class (listed up to the first -1) against every other class."""
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor: """The mean over classes of the binary cross entropy."""
def native_channel_shuffle(input: Tensor, groups: int) -> Tensor: """Channels dealt out over the groups."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean') -> Tensor: """Minus the log-probability of the target class."""
def normalize(input: Tensor, p: float = 2.0, dim: Dims = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor: """Divide by the p-norm along `dim` (at least eps)."""
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor: """Each class number as a vector that is one at that place and zero elsewhere."""
def pad(input: Tensor, pad: Shape, mode: str = 'constant', value: float | None = None) -> Tensor: ...
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> Tensor: """The p-norm of x1 - x2 + eps along the last dimension."""
def pdist(input: Tensor, p: float = 2) -> Tensor: """p-norm distances between the rows, each pair once."""
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor: """(C r^2, H, W) -> (C, H r, W r)"""
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor: """(C, H r, W r) -> (C r^2, H, W)"""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-08, reduce: bool | None = None, reduction: str = 'mean') -> Tensor: """The negative log likelihood of a Poisson variable."""
def prelu(input: Tensor, weight: Tensor) -> Tensor: """x where positive, weight * x elsewhere; the weight is one number or one per channel."""
def relu(input: Tensor, inplace: bool = False) -> Tensor: """max(input, 0), elementwise."""
def relu6(input: Tensor, inplace: bool = False) -> Tensor: """input limited to [0, 6]."""
def relu_(input: Tensor) -> Tensor: """`relu`, in place."""
def rms_norm(input: Tensor, normalized_shape: Ints, weight: Tensor | None = None, eps: float | None = None) -> Tensor: """Root mean square 1 over the last dimensions, then weight."""
def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, inplace: bool = False) -> Tensor: """Leaky ReLU whose slope is random in training."""
def rrelu_(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False) -> Tensor: """`rrelu`, in place."""
def scaled_dot_product_attention(query: Tensor, key: Any, value: Scalar, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Tensor: """softmax(query @ key.T * scale + mask) @ value"""
def selu(input: Tensor, inplace: bool = False) -> Tensor: """The self-normalising ELU."""
def selu_(input: Tensor) -> Tensor: """`selu`, in place."""
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor: """1 / (1 + exp(-input)), elementwise."""
def silu(input: Tensor, inplace: bool = False) -> Tensor: """input * sigmoid(input), elementwise."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', beta: Number = 1.0) -> Tensor: """Squared near zero (below beta), absolute beyond."""
def soft_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor: """log(1 + exp(-target * input))"""
def softmax(input: Tensor, dim: Dims | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor: """exp(x) divided by its sum along `dim`."""
def softmin(input: Tensor, dim: Dims | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor: """softmax(-x)"""
def softplus(input: Tensor, beta: Number = 1, threshold: float = 20, *, out: Tensor | None = None) -> Tensor: """log(1 + exp(beta * x)) / beta, the identity above the threshold."""
def softshrink(input: Tensor, lambd: Number = 0.5, *, out: Tensor | None = None) -> Tensor: """x moved towards zero by `lambd`, and zero where it is nearer than that."""
def softsign(input: Tensor, *, out: Tensor | None = None) -> Tensor: """input / (1 + |input|), elementwise."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: """The hyperbolic tangent of each element."""
def tanhshrink(input: Tensor, *, out: Tensor | None = None) -> Tensor: """input - tanh(input), elementwise."""
def threshold(input: Tensor, threshold: Number, value: Number, inplace: bool = False) -> Tensor: ...
def threshold_(input: Tensor, threshold: float, value: Scalar) -> Tensor: """`threshold`, in place."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-06, swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor: """max(0, d(anchor, positive) - d(anchor, negative) + margin)"""
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[..., Any] | None = None, margin: float = 1.0, swap: bool = False, reduction: str = 'mean') -> Tensor: """`triplet_margin_loss` with any distance."""
def unfold(input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Tensor: """Sliding blocks as columns: (N, C * block, L)."""
def upsample(input: Tensor, size: Ints | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = 'nearest', align_corners: bool | None = None) -> Tensor: """`interpolate` under its older name."""
def upsample_bilinear(input: Tensor, size: Ints | None = None, scale_factor: float | Sequence[float] | None = None) -> Tensor: """`interpolate` with mode "bilinear" and aligned corners."""
def upsample_nearest(input: Tensor, size: Ints | None = None, scale_factor: float | Sequence[float] | None = None) -> Tensor: """`interpolate` with mode "nearest"."""
