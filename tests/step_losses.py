"""What tests/fuzz_steps.py draws from: how a model is called, losses, terms beside them,
transforms, and inferences.

Blocks are those of tests/step_models.py: what stands before `-- step` is run once. `m` is the
model, `x`, `y` and `mask` the data, `S` an object with the step's state. A forward makes `out`,
a loss makes `loss` of it; terms and transforms go on with `loss`.
"""

LOSSES = r"""
== forward plain : *
-- step
out = m(x, mask)

== forward autocast : *
-- step
with torch.autocast("cpu", dtype=torch.bfloat16):
    out = m(x, mask)
out = out.float()

== forward checkpointed : *
checkpoint = torch.utils.checkpoint.checkpoint
-- step
out = checkpoint(m, x, mask, use_reentrant=False)

== forward in_parts : *
-- step
h = m.features(x, mask)
out = m.head(h)

== forward functional : *
-- step
out = functional_call(m, {**dict(m.named_parameters()), **dict(m.named_buffers())}, (x, mask))

== forward scaled_weights : *
-- step
with torch.no_grad():
    scale = 1 + 0.01 * m.head.weight.abs().mean()
out = m(x, mask) * scale

== loss cross_entropy : *
-- step
loss = F.cross_entropy(out, y)

== loss smoothed : *
weights = torch.tensor([0.5, 1.0, 2.0])
-- step
loss = F.cross_entropy(out, y, weight=weights, label_smoothing=0.1)

== loss ignoring : *
-- step
some = torch.where(y == 2, -100, y)
loss = F.cross_entropy(out, some, ignore_index=-100, reduction="sum") / (some != -100).sum().clamp(
    min=1
)

== loss heads : *
other = nn.Linear(3, 2)
-- step
losses = {"class": F.cross_entropy(out, y), "size": out.pow(2).mean() * 0.01}
losses["other"] = F.binary_cross_entropy_with_logits(other(out)[:, 0], (y > 0).float())
loss = sum(losses.values())

== loss one_hot : *
-- step
loss = F.mse_loss(out.softmax(-1), F.one_hot(y, 3).to(out.dtype))

== loss focal : *
-- step
logp = F.log_softmax(out, dim=-1).gather(1, y[:, None]).squeeze(1)
loss = -((1 - logp.exp()) ** 2 * logp).mean()

== loss margin : *
-- step
right = out.gather(1, y.view(-1, 1))
wrong = out.masked_fill(F.one_hot(y, 3).bool(), -1e9).max(1, keepdim=True)[0]
loss = F.relu(1 + wrong - right).mean()

== loss hardest : *
-- step
each = F.cross_entropy(out, y, reduction="none")
loss = each.topk(max(1, int(0.7 * each.numel())))[0].mean()

== loss contrastive : *
-- step
z = F.normalize(out, dim=1)
sim = z @ z.t() / 0.5
same = (y[:, None] == y[None, :]).float() - torch.eye(len(y))
logp = sim - torch.logsumexp(sim - 1e9 * torch.eye(len(y)), dim=1, keepdim=True)
loss = -(same * logp).sum(1).div(same.sum(1).clamp(min=1)).mean()

== loss policy : *
-- step
dist = torch.distributions.Categorical(logits=out)
act = dist.sample()
reward = (act == y).float()
loss = -(dist.log_prob(act) * (reward - reward.mean())).mean() - 0.01 * dist.entropy().mean()

== loss clipped_policy : *
-- step
logp = torch.log_softmax(out, -1)[torch.arange(len(y)), y]
ratio, adv = (logp - logp.detach() * 1.1).exp(), torch.linspace(-1, 1, len(y))
loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()

== loss distilled : *
teacher = copy.deepcopy(m).eval().requires_grad_(False)
-- step
with torch.no_grad():
    soft = F.softmax(teacher(x, mask) / 2, dim=1)
loss = F.kl_div(
    F.log_softmax(out / 2, dim=1), soft, reduction="batchmean"
) * 4 + 0.5 * F.cross_entropy(out, y)

== loss huber : *
-- step
err = (out[:, 0] - y).abs()
loss = torch.where(err < 1, 0.5 * err ** 2, err - 0.5).mean()

== loss weighted : *
-- step
each = F.cross_entropy(out, y, reduction="none")
w = torch.exp(-each.detach())
loss = (w * each).sum() / w.sum().clamp(min=1e-6)

== loss selected : * : each
-- step
picked = y > 0
loss = F.cross_entropy(out[picked], y[picked]) if picked.any() else out.sum() * 0

== loss quantiles : *
-- step
q = torch.tensor([0.1, 0.5, 0.9])
d = y[:, None].float() - out
loss = torch.maximum(q * d, (q - 1) * d).mean()

== loss smaller_batches : *
-- step
loss = torch.stack(
    [F.cross_entropy(o, t, reduction="sum") for o, t in zip(out.chunk(2), y.chunk(2))]
).sum() / len(y)
"""

TERMS = r"""
== term decay : *
-- step
loss = loss + 1e-3 * sum(p.pow(2).sum() for p in m.parameters() if p.requires_grad)

== term sparse : *
-- step
loss += 1e-3 * m.head.weight.abs().sum()

== term orthogonal : *
-- step
w = m.head.weight
loss = loss + 1e-2 * ((w @ w.t() - torch.eye(3)) ** 2).sum()

== term named : *
-- step
for name, p in m.named_parameters():
    if name.endswith("weight") and p.dim() > 1:
        loss = loss + 1e-4 * p.norm()

== term slices : seq
-- step
last = sum((x[:, t].pow(2).sum(-1) * 0.01 * (t % 2)).mean() for t in range(min(3, x.shape[1])))
loss = loss + last * m.head.bias.pow(2).sum()

== term over_time : seq : each
-- step
h = torch.zeros(x.shape[0], 6)
for t in range(x.size(1)):
    h = 0.9 * h + 0.1 * x[:, t] * m.head.bias.mean()
loss = loss + 1e-2 * h.pow(2).mean()

== term differences : seq img
-- step
d = x[:, 1:] - x[:, :-1]
loss = loss + d.abs().mean() * m.head.weight.mean() * 1e-2

== term penalty : vec seq img
-- step
xi = x.detach().clone().requires_grad_(True)
g, = torch.autograd.grad(m(xi, mask).sum(), xi, create_graph=True)
loss = loss + 0.1 * (g.flatten(1).norm(2, dim=1) - 1).pow(2).mean()

== term adversarial : vec seq img
-- step
xa = x.detach().requires_grad_()
g = torch.autograd.grad(F.cross_entropy(m(xa, mask), y), xa)[0]
loss = loss + 0.5 * F.cross_entropy(m((x + 0.05 * g.sign()).detach(), mask), y)

== term consistent : *
-- step
again = m(x, mask)
loss = loss + F.mse_loss(again, out.detach())

== term entropy : *
-- step
p = out.softmax(-1)
loss = loss - 1e-2 * torch.special.entr(p).sum(-1).mean()

== term class_means : *
-- step
sums = torch.zeros(3, 3).index_add(0, y, out)
counts = torch.bincount(y, minlength=3).clamp(min=1)
loss = loss + 1e-2 * (sums / counts[:, None]).pow(2).sum()

== term scattered : *
-- step
means = out.new_zeros(3, 3).scatter_reduce(
    0, y[:, None].expand_as(out), out, "mean", include_self=False
)
loss = loss + 1e-2 * torch.cdist(means, means).sum()

== term decorrelated : *
-- step
c = (out - out.mean(0)) / (out.std(0, unbiased=False) + 1e-3)
c = torch.einsum("bi,bj->ij", c, c) / out.size(0)
loss = loss + 1e-2 * (c - torch.diag(torch.diagonal(c))).pow(2).sum()

== term sorted : *
-- step
a, b = out[:, 0].sort().values, torch.sort(out[:, 1], descending=True)[0]
loss = loss + 1e-2 * (a - b).abs().mean()

== term running : *
-- step
S.center = getattr(S, "center", torch.zeros(3)) * 0.9 + out.detach().mean(0) * 0.1
loss = loss + 1e-2 * (out - S.center).pow(2).mean()

== term annealed : *
-- step
beta = min(1.0, S.n / 10)
loss = loss + beta * 1e-2 * out.logsumexp(-1).pow(2).mean()

== term periodic : *
-- step
if S.n % 4 == 0:
    loss = loss + 1e-2 * out.abs().mean()

== term no_nan : *
-- step
loss = torch.nan_to_num(loss, nan=0.0).clamp(max=50.0)

== term power : *
S.u = torch.ones(3)
-- step
with torch.no_grad():
    v = F.normalize(m.head.weight.t() @ S.u, dim=0)
    S.u.copy_(F.normalize(m.head.weight @ v, dim=0))
loss = loss + 1e-2 * (S.u @ m.head.weight @ v)

== term extra : *
-- step
for name in ("kl", "commit", "lm_loss"):
    if hasattr(m, name):
        loss = loss + 0.1 * getattr(m, name).mean()

== term hinge_of_pairs : *
-- step
i, j = torch.triu_indices(out.shape[0], out.shape[0], 1)
far = (out[i] - out[j]).pow(2).sum(-1)
loss = loss + 1e-2 * F.relu(1 - far).sum() / max(len(i), 1)
"""

TRANSFORMS = r"""
== transform per_sample : * : maps
def one(p, x, y): return F.cross_entropy(functional_call(m, p, (x[None],)), y[None])
-- step
per = vmap(grad(one), (None, 0, 0), randomness="different")(
    {k: v.detach() for k, v in m.named_parameters()}, x, y
)
norms = sum(g.flatten(1).pow(2).sum(1) for g in per.values()).sqrt()
loss = loss * (1 / norms.clamp(min=0.1)).mean().detach()

== transform per_sample_of_head : *
def of_head(w, h, y): return F.cross_entropy((w @ h)[None], y[None])
-- step
h = m.features(x, mask).detach()
g, each = vmap(torch.func.grad_and_value(of_head), in_dims=(None, 0, 0))(
    m.head.weight.detach(), h, y
)
loss = loss + 1e-3 * each.mean() * g.norm(dim=(1, 2)).max()

== transform forward_product : *
-- step
w = m.head.weight.detach()
h = m.features(x, mask).detach()
value, tangent = torch.func.jvp(
    lambda w: F.cross_entropy(h @ w.t(), y), (w,), (torch.ones_like(w),)
)
loss = loss + 1e-2 * tangent.abs()

== transform backward_product : *
-- step
h = m.features(x, mask)
o, back = torch.func.vjp(lambda h: m.head(h).tanh(), h.detach())
loss = loss + 1e-3 * (back(torch.ones_like(o))[0] * h).mean()

== transform curvature : *
-- step
w, h = m.head.weight.detach(), m.features(x, mask).detach()
energy = lambda w: F.cross_entropy(h @ w.t(), y)
_, hv = torch.func.jvp(torch.func.grad(energy), (w,), (w,))
loss = loss + 1e-3 * (hv * m.head.weight).sum()

== transform hessian : *
-- step
b, o = m.head.bias.detach(), out.detach()
h = torch.func.hessian(lambda b: F.cross_entropy(o + b, y))(b)
S.trace = torch.trace(h)
loss = loss + 1e-3 * S.trace

== transform jacobian : *
-- step
h = m.features(x, mask).detach()
j = vmap(torch.func.jacrev(lambda h: m.head(h).softmax(-1)))(h)
loss = loss + 1e-3 * j.pow(2).sum() / len(h)

== transform inner_step : *
-- step
fast = {k: v for k, v in m.named_parameters() if v.requires_grad}
inner = F.cross_entropy(functional_call(m, fast, (x, mask)), y)
gs = torch.autograd.grad(inner, list(fast.values()), create_graph=True, allow_unused=True)
fast = {k: v if g is None else v - 0.05 * g for (k, v), g in zip(fast.items(), gs)}
loss = loss + F.cross_entropy(functional_call(m, fast, (x, mask)), y)

== transform ensemble : *
heads = [nn.Linear(3, 3) for _ in range(3)]
stacked, _ = torch.func.stack_module_state(heads)
-- step
votes = vmap(lambda p, o: functional_call(heads[0], p, (o,)), in_dims=(0, None))(stacked, out)
loss = loss + 0.1 * F.cross_entropy(votes.mean(0), y) - 1e-3 * votes.var(0).mean()

== transform reversed_gradient : *
class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.by = by
        return x.view_as(x)
    @staticmethod
    def backward(ctx, g): return -ctx.by * g, None
critic = nn.Linear(3, 2)
-- step
loss = loss + 0.1 * F.cross_entropy(critic(Reversed.apply(out, 0.5)), (y > 0).long())

== transform second_gradients : *
-- step
g, = torch.autograd.grad(F.cross_entropy(out, y), m.head.weight, create_graph=True)
loss = loss + 1e-2 * g.pow(2).sum()

== transform importance : *
S.fisher = {}
-- step
ps = {k: p for k, p in m.named_parameters() if p.requires_grad}
gs = torch.autograd.grad(F.cross_entropy(m(x, mask), y), list(ps.values()), allow_unused=True)
for (k, p), g in zip(ps.items(), gs):
    if g is not None:
        S.fisher[k] = 0.9 * S.fisher.get(k, 0.0) + 0.1 * g.pow(2)
        loss = loss + 1e-3 * (S.fisher[k] * p.pow(2)).sum()

== transform saliency : vec seq img
-- step
with torch.enable_grad():
    xs = x.clone().requires_grad_()
    sal = torch.autograd.grad(m(xs, mask).max(1).values.sum(), xs)[0].abs()
loss = loss + 1e-2 * (sal / sal.amax().clamp(min=1e-6)).mean().item()

== transform gated : *
-- step
@torch.no_grad()
def gate(o):
    p = o.softmax(-1)
    return (p.max(-1).values > 0.4).float()
loss = loss + 1e-2 * (gate(out) * out.logsumexp(-1)).mean()
"""

INFERENCES = r"""
== infer guess : *
-- step
with torch.no_grad():
    return m(x, mask).argmax(-1)

== infer measured : *
-- step
was = m.training
m.eval()
with torch.inference_mode():
    out = m(x, mask)
    right = (out.argmax(1) == y).sum().item()
m.train(was)
return right / max(len(y), 1)

== infer loss : *
-- step
with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
    out = m(x, mask)
return F.cross_entropy(out.float(), y).item()

== infer sampled : *
-- step
with torch.no_grad():
    p = F.softmax(m(x, mask) / 0.7, dim=-1)
    return torch.multinomial(p, 1).squeeze(-1).tolist()

== infer nucleus : *
-- step
with torch.no_grad():
    logits, at = m(x, mask).sort(descending=True)
    far = logits.softmax(-1).cumsum(-1) > 0.9
    logits = logits.masked_fill(
        far.roll(1, -1).index_fill(-1, torch.tensor([0]), False), float("-inf")
    )
    return at.gather(-1, logits.argmax(-1, keepdim=True))

== infer explained : vec seq img
-- step
x = x.clone().requires_grad_()
m(x, mask).logsumexp(-1).sum().backward()
g = x.grad.abs()
m.zero_grad()
return g / g.amax().clamp(min=1e-9)

== infer voted : *
-- step
m.train()
with torch.no_grad():
    return torch.stack([m(x, mask).softmax(-1) for _ in range(3)]).mean(0).max(-1)
"""
