"""Kernels as users write them, and operators made of them."""
import triton
import triton.language as tl
import whet
from whet.library import triton_op, wrap_triton


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton_op("kernels_of_tests::add", mutates_args={})
def add(x: whet.Tensor, y: whet.Tensor) -> whet.Tensor:
    out = whet.empty_like(x)

    def grid(meta):
        return (triton.cdiv(out.numel(), meta["BLOCK"]),)
    wrap_triton(add_kernel)[grid](x, y, out, out.numel(), BLOCK=64)
    return out


add.register_autograd(lambda ctx, g: (g, g))


@triton.jit
def softmax_kernel(x, out, stride, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    values = tl.load(x + row * stride + at, mask=mask, other=-float("inf"))
    e = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + at, e / tl.sum(e, axis=0), mask=mask)


@triton_op("kernels_of_tests::softmax", mutates_args=())
def softmax(x: whet.Tensor) -> whet.Tensor:
    out = whet.empty_like(x)
    rows, columns = x.shape
    wrap_triton(softmax_kernel)[(rows,)](
        x, out, x.stride(0), columns, BLOCK=triton.next_power_of_2(columns), num_warps=8)
    return out


def _softmax_backward(ctx, g):
    y, = ctx.saved_tensors
    return y * (g - (g * y).sum(1, keepdim=True))


softmax.register_autograd(
    _softmax_backward,
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output))


@triton.jit
def matmul_kernel(a, b, c, M, N, K, a_row, a_column, b_row, b_column, c_row, c_column,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * a_row + k[None, :] * a_column,
                       mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * b_row + n[None, :] * b_column,
                        mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        sums = tl.dot(left, right, sums, input_precision="ieee")
    tl.store(c + m[:, None] * c_row + n[None, :] * c_column, sums,
             mask=(m[:, None] < M) & (n[None, :] < N))


TILES = [triton.Config({"BM": 32, "BN": 16, "BK": 16}, num_warps=2),
         triton.Config({"BM": 16, "BN": 16, "BK": 32}, num_stages=4)]
tuned_matmul = triton.autotune(configs=TILES, key=["M", "N", "K"])(matmul_kernel)


@triton_op("kernels_of_tests::matmul", mutates_args=())
def matmul(a: whet.Tensor, b: whet.Tensor) -> whet.Tensor:
    (rows, inner), columns = a.shape, b.shape[1]
    out = whet.empty(rows, columns, device=a.device)

    def grid(meta):
        return triton.cdiv(rows, meta["BM"]), triton.cdiv(columns, meta["BN"])
    wrap_triton(tuned_matmul)[grid](
        a, b, out, rows, columns, inner, *a.stride(), *b.stride(), *out.stride())
    return out


matmul.register_autograd(
    lambda ctx, g: (matmul(g, ctx.saved_tensors[1].T), matmul(ctx.saved_tensors[0].T, g)),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))


@triton.jit
def _row(x, row, at, columns):
    return tl.load(x + row * columns + at, mask=at < columns, other=0.0)


@triton.jit
def norm_kernel(x, weight, bias, out, means, scales, columns, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = _row(x, row, at, columns)
    mean = tl.sum(values, axis=0) / columns
    away = tl.where(at < columns, values - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(away * away, axis=0) / columns + eps)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    tl.store(out + row * columns + at,
             away * scale * _row(weight, 0, at, columns) + _row(bias, 0, at, columns),
             mask=at < columns)


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["columns"])})
@triton.jit
def norm_backward_kernel(g, x, weight, means, scales, to_x, to_weight, to_bias, columns,
                         BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    scale, grad = tl.load(scales + row), _row(g, row, at, columns)
    normal = tl.where(mask, (_row(x, row, at, columns) - tl.load(means + row)) * scale, 0.0)
    inner = grad * _row(weight, 0, at, columns)
    first = tl.sum(inner, axis=0) / columns
    second = tl.sum(inner * normal, axis=0) / columns
    tl.store(to_x + row * columns + at, (inner - first - normal * second) * scale, mask=mask)
    # sums by atomic operations would have other bits at each call
    tl.store(to_weight + row * columns + at, grad * normal, mask=mask)
    tl.store(to_bias + row * columns + at, grad, mask=mask)


@triton_op("kernels_of_tests::norm", mutates_args=())
def norm(x: whet.Tensor, weight: whet.Tensor, bias: whet.Tensor,
         eps: float = 1e-5) -> tuple[whet.Tensor, whet.Tensor, whet.Tensor]:
    (rows, columns), out = x.shape, whet.empty_like(x)
    means, scales = x.new_empty(rows), x.new_empty(rows)
    wrap_triton(norm_kernel)[(rows,)](x, weight, bias, out, means, scales, columns, eps,
                                      BLOCK=triton.next_power_of_2(columns))
    return out, means, scales


@triton_op("kernels_of_tests::norm_backward", mutates_args=())
def norm_backward(g: whet.Tensor, x: whet.Tensor, weight: whet.Tensor, means: whet.Tensor,
                  scales: whet.Tensor) -> tuple[whet.Tensor, whet.Tensor, whet.Tensor]:
    to_x, to_weight, to_bias = whet.empty_like(x), whet.empty_like(x), whet.empty_like(x)
    wrap_triton(norm_backward_kernel)[(len(x),)](
        g.contiguous(), x, weight, means, scales, to_x, to_weight, to_bias, x.shape[1])
    return to_x, to_weight.sum(0), to_bias.sum(0)


def _norm_setup(ctx, inputs, output):
    x, weight, _, _ = inputs
    ctx.save_for_backward(x, weight, *output[1:])


norm.register_autograd(
    lambda ctx, g, _1, _2: (*norm_backward(g, *ctx.saved_tensors), None),
    setup_context=_norm_setup)


@triton.jit
def scale_kernel(x, factor, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


@triton_op("kernels_of_tests::scale_", mutates_args={"x"})
def scale_(x: whet.Tensor, factor: float) -> None:
    wrap_triton(scale_kernel)[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](
        x, factor, x.numel(), BLOCK=32)


def both(*shape, seed=0):
    """Random numbers on the CPU and on the device, which want gradients."""
    x = whet.randn(shape, generator=whet.Generator().manual_seed(seed))
    return x.requires_grad_(), x.detach().cuda().requires_grad_()
