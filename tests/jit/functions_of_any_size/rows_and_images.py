"""Of rows and of images: distances, contrastive losses, statistics, windows, resizing."""
import math

import whet as T
import whet.nn.functional as F

from .common import D, bn2m, conv2, images, lin, rows, takes


@takes(rows)
def cdist_(x):
    return T.cdist(x, x)


@takes(rows)
def pair_(x):
    return (x[:, None] - x[None]).norm(dim=-1)


@takes(rows)
def diag_(x):
    return (x @ x.T).diagonal()


@takes(rows)
def fill_diag(x):
    a = x @ x.T
    a.fill_diagonal_(0)
    return a


@takes(rows)
def index_half(x):
    return x[T.arange(0, x.shape[0], 2)]


@takes(rows)
def mask_rows(x):
    return x * (T.arange(x.shape[0]) < 3).unsqueeze(1)


@takes(rows)
def cond_shape(x):
    return x * 2 if x.shape[0] > 4 else x * 3


@takes(rows)
def assert_shape(x):
    assert x.shape[1] == D
    return x * 2


@takes(rows)
def assert_f(x):
    assert x.shape[1] == D, f"bad {x.shape}"
    return x * 2


@takes(rows)
def ndim_(x):
    return x if x.dim() == 3 else x * 2


@takes(rows)
def batch_std(x):
    return (x - x.mean(0)) / (x.std(0) + 1e-05)


@takes(rows)
def cov(x):
    c = x - x.mean(0)
    return c.T @ c / (x.shape[0] - 1)


@takes(rows)
def write_(x):
    o = T.zeros(x.shape[0], D)
    o[:, 0] = x[:, 0]
    return o


@takes(rows)
def index_add_(x):
    return T.zeros(4, D).index_add(0, T.arange(x.shape[0]) % 4, x)


@takes(rows)
def scatter_(x):
    return T.zeros(x.shape[0], D).scatter(1, x.argmax(1, keepdim=True), 1.0)


@takes(rows)
def where_(x):
    return T.where(x > 0, x, T.zeros(1))


@takes(rows)
def softplus_(x):
    return F.softplus(x).sum()


@takes(rows)
def max_n(x):
    return x[:max(1, x.shape[0] // 2)]


@takes(rows)
def flat_by_division(x):
    x = T.outer(x.mean(1), x[0]).reshape(-1, 2, 4)
    return lin(x.view(-1, int(x.nelement() / x.shape[0])))


@takes(rows)
def flat_rounded(x):
    return x.view(-1, round(x.numel() / len(x))) * math.ceil(x.numel() / len(x))


@takes(rows)
def half_towards_zero(x):
    return x * int((x.shape[0] - 60) / 2) + int(x.shape[0] / -4) + math.floor((30 - len(x)) / 4)


@takes(rows)
def min_n(x):
    return x[:min(4, x.shape[0])]


@takes(rows)
def print_free(x):
    n = x.shape[0]
    d = {"n": n}
    return x.sum() / d["n"]


@takes(rows)
def unbind_(x):
    a, b = x.view(-1, 2, 4).unbind(1)
    return a + b


@takes(rows)
def tile_(x):
    return T.tile(x, (2, 1))


@takes(rows)
def meshg(x):
    a, b = T.meshgrid(T.arange(x.shape[0]), T.arange(D), indexing="ij")
    return a * b + x


@takes(rows)
def logsum(x):
    return T.logsumexp(x, 0)


@takes(rows)
def median_(x):
    return x.median(0)[0]


@takes(rows)
def knn(x):
    d = T.cdist(x, x)
    i = d.topk(4, largest=False).indices
    return x[i].mean(1)


@takes(rows)
def knn2(x):
    d = (x[:, None] - x[None]).pow(2).sum(-1)
    v, i = d.topk(3, dim=-1, largest=False)
    return x[i].max(1)[0]


@takes(rows)
def gram(x):
    g = x @ x.T
    return g / g.diagonal().sqrt()[:, None]


@takes(rows)
def nms_iou(x):
    b = x[:, :4]
    a = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    lt = T.max(b[:, None, :2], b[None, :, :2])
    rb = T.min(b[:, None, 2:], b[None, :, 2:])
    wh = (rb - lt).clamp(min=0)
    i = wh[..., 0] * wh[..., 1]
    return i / (a[:, None] + a[None] - i)


@takes(rows)
def sinkhorn(x):
    k = (-T.cdist(x, x)).exp()
    u = T.ones(x.shape[0]) / x.shape[0]
    v = u
    for _ in range(3):
        u = 1 / x.shape[0] / (k @ v)
        v = 1 / x.shape[0] / (k.T @ u)
    return u[:, None] * k * v


@takes(rows)
def attn_pool(x):
    w = (x @ lin.weight[0]).softmax(0)
    return (w[:, None] * x).sum(0)


@takes(rows)
def gae(x):
    r = x[:, 0]
    return T.flip(T.cumsum(T.flip(r, [0]), 0), [0])


@takes(rows)
def zscore(x):
    m, s = (x.mean(0), x.std(0, unbiased=False))
    return (x - m) / (s + 1e-08)


@takes(rows)
def corr(x):
    return T.corrcoef(x.T)


@takes(rows)
def cov_(x):
    return T.cov(x.T)


@takes(rows)
def quant(x):
    return T.quantile(x, 0.5, dim=0)


@takes(rows)
def segm(x):
    i = T.arange(x.shape[0]) // 2
    return T.zeros((x.shape[0] + 1) // 2, 8).index_add(0, i, x)


@takes(rows)
def perm(x):
    return x[T.randperm(x.shape[0])]


@takes(rows)
def noise(x):
    return x + 0.1 * T.randn_like(x)


@takes(rows)
def mixup(x):
    l = T.rand(1)
    return l * x + (1 - l) * x[T.randperm(x.size(0))]


@takes(rows)
def bern(x):
    return x * T.bernoulli(T.full_like(x, 0.5))


@takes(rows)
def masked_mean(x):
    m = (x > 0).float()
    return (x * m).sum(0) / m.sum(0).clamp(min=1)


@takes(rows)
def triplet(x):
    return F.triplet_margin_loss(x, x.roll(1, 0), x.roll(2, 0))


@takes(rows)
def ntxent(x):
    z = F.normalize(T.cat([x, x * 1.1]), dim=1)
    s = z @ z.T / 0.5
    n = x.shape[0]
    s.masked_fill_(T.eye(2 * n, dtype=T.bool), -9000000000000000.0)
    return F.cross_entropy(s, T.cat([T.arange(n) + n, T.arange(n)]))


@takes(rows)
def supcon(x):
    y = T.arange(x.size(0)) % 3
    m = (y[:, None] == y[None]).float()
    z = F.normalize(x, dim=-1)
    l = (z @ z.T).log_softmax(-1)
    return -(l * m).sum(1).div(m.sum(1)).mean()


@takes(rows)
def mmd(x):
    d = T.cdist(x, x) ** 2
    k = (-d).exp()
    n = x.shape[0]
    return (k.sum() - k.trace()) / (n * (n - 1))


@takes(rows)
def kmeans(x):
    c = x[:3]
    a = T.cdist(x, c).argmin(1)
    oh = F.one_hot(a, 3).float()
    return oh.T @ x / oh.sum(0)[:, None].clamp(min=1)


@takes(rows)
def lstsq_(x):
    return T.linalg.solve(x.T @ x + T.eye(8), x.T @ x[:, :1])


@takes(rows)
def chol(x):
    return T.linalg.cholesky(x.T @ x + T.eye(8))


@takes(rows)
def gp(x):
    k = (-T.cdist(x, x) ** 2).exp() + 0.1 * T.eye(x.shape[0])
    return T.linalg.solve(k, x[:, :1])


@takes(rows)
def interp_lin(x):
    i = T.linspace(0, x.shape[0] - 1, 6)
    lo = i.floor().long()
    hi = (lo + 1).clamp(max=x.shape[0] - 1)
    w = (i - lo)[:, None]
    return x[lo] * (1 - w) + x[hi] * w


@takes(images)
def conv2_(x):
    return conv2(x).relu()


@takes(images)
def up_like(x):
    return F.interpolate(F.max_pool2d(x, 2), size=x.shape[2:])


@takes(images)
def up_bilin(x):
    return F.interpolate(F.max_pool2d(x, 2), size=x.shape[-2:], mode="bilinear")


@takes(images)
def unet(x):
    d = F.max_pool2d(conv2(x), 2)
    u = F.interpolate(d, scale_factor=2)
    u = F.pad(u, (0, x.shape[-1] - u.shape[-1], 0, x.shape[-2] - u.shape[-2]))
    return T.cat([u, x], 1)


@takes(images)
def gap(x):
    return conv2(x).mean((2, 3))


@takes(images)
def aap(x):
    return F.adaptive_avg_pool2d(conv2(x), (2, 2))


@takes(images)
def amp(x):
    return F.adaptive_max_pool2d(conv2(x), 1)


@takes(images)
def flatt(x):
    return conv2(x).flatten(2).transpose(1, 2)


@takes(images)
def gridp(x):
    h, w = x.shape[-2:]
    ys, xs = T.meshgrid(T.arange(h), T.arange(w), indexing="ij")
    return T.stack([xs, ys], 0).float() / T.tensor([w, h]).view(2, 1, 1)


@takes(images)
def sobel(x):
    k = T.tensor([[[[1.0, 0, -1], [2, 0, -2], [1, 0, -1]]]])
    return F.conv2d(x, k, padding=1).abs()


@takes(images)
def bn2(x):
    return bn2m(conv2(x))


@takes(images)
def ctrans(x):
    return F.conv_transpose2d(conv2(x), conv2.weight.detach(), stride=2)


@takes(images)
def gsample(x):
    g = F.affine_grid(T.eye(2, 3)[None].expand(2, -1, -1), x.shape, align_corners=False)
    return F.grid_sample(x, g, align_corners=False)


@takes(images)
def pshuf(x):
    return F.pixel_shuffle(conv2(x), 2)


@takes(images)
def rollim(x):
    return T.roll(x, (1, 1), (2, 3))


@takes(images)
def psnr(x):
    return 10 * T.log10(1 / F.mse_loss(x, x * 0.9))


@takes(images)
def ssim(x):
    k = T.ones(1, 1, 3, 3) / 9
    m = F.conv2d(x, k)
    v = F.conv2d(x * x, k) - m * m
    return v.mean()


@takes(rows)
def columns_in_turn(x):
    total = 0
    for i in range(x.shape[1]):
        total = total + x[:, i] * i
    return total.sum()


@takes(rows)
def below_the_diagonal(x):
    products = x.T @ x
    n, m = products.shape
    i = T.tensor([i for i in range(n) for j in range(i)])
    j = T.tensor([j for i in range(m) for j in range(i)])
    return products[i, j].sum() * int(x.shape[1])


@takes(rows)
def bags(x):
    places = (x[:, 0].abs() * 40).long() % 100
    return F.embedding_bag(places, T.eye(100), T.tensor([0, 3, 17, 30]), mode="sum")
