"""What tests/fuzz_steps.py draws from: optimizers and schedules, the update that is made of a loss,
the Python around it, results, and what is done between calls.

Blocks are those of tests/step_models.py. `OPTIMIZERS` and `SCHEDULES` are expressions, `BETWEEN`
and `NEW_MODEL` statements, with a free line after each.
The flag `each` says that calls may need recordings of their own, or cannot be replayed.
"""

OPTIMIZERS = """
torch.optim.SGD(m.parameters(), 0.05)

torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9, nesterov=True)

torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3, dampening=0.1)

torch.optim.Adam(m.parameters(), lr=1e-2)

torch.optim.Adam(m.parameters(), lr=1e-2, amsgrad=True, weight_decay=1e-2)

torch.optim.AdamW(m.parameters(), lr=1e-2, betas=(0.8, 0.95))

torch.optim.AdamW(
    [
        {"params": [p for p in m.parameters() if p.ndim > 1]},
        {"params": [p for p in m.parameters() if p.ndim < 2], "weight_decay": 0.0, "lr": 1e-3},
    ],
    lr=1e-2,
)

torch.optim.SGD(
    [
        {"params": m.head.parameters(), "lr": 0.1},
        {"params": [p for k, p in m.named_parameters() if not k.startswith("head")]},
    ],
    lr=0.01,
    momentum=0.5,
)

torch.optim.RMSprop(m.parameters(), lr=1e-3, momentum=0.9)

torch.optim.RMSprop(m.parameters(), lr=1e-3, centered=True)

torch.optim.Adagrad(m.parameters(), lr=1e-2)

torch.optim.NAdam(m.parameters(), lr=1e-2)

torch.optim.RAdam(m.parameters(), lr=1e-2)

torch.optim.Adamax(m.parameters(), lr=1e-2)

torch.optim.Adadelta(m.parameters(), lr=1.0)

torch.optim.ASGD(m.parameters(), lr=1e-2)

torch.optim.Rprop(m.parameters(), lr=1e-3)
"""

SCHEDULES = """
torch.optim.lr_scheduler.StepLR(opt, 5, 0.5)

torch.optim.lr_scheduler.MultiStepLR(opt, [3, 9, 20])

torch.optim.lr_scheduler.OneCycleLR(
    opt, 0.1, total_steps=400, cycle_momentum="momentum" in opt.defaults
)

torch.optim.lr_scheduler.CosineAnnealingLR(opt, 30)

torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 7)

torch.optim.lr_scheduler.LambdaLR(opt, lambda n: min(1.0, (n + 1) / 8))

torch.optim.lr_scheduler.LambdaLR(opt, lambda n: 0.5 * (1 + math.cos(math.pi * n / 50)))

torch.optim.lr_scheduler.ExponentialLR(opt, 0.97)

torch.optim.lr_scheduler.PolynomialLR(opt, 50)

torch.optim.lr_scheduler.CyclicLR(opt, 0.01, 0.1, 6, cycle_momentum=False)

torch.optim.lr_scheduler.SequentialLR(
    opt,
    [
        torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=5),
        torch.optim.lr_scheduler.CosineAnnealingLR(opt, 40),
    ],
    [5],
)

torch.optim.lr_scheduler.ChainedScheduler(
    [
        torch.optim.lr_scheduler.ConstantLR(opt, 0.1, 4),
        torch.optim.lr_scheduler.ExponentialLR(opt, 0.9),
    ]
)
"""

UPDATES = r"""
== update plain : *
-- step
opt.zero_grad()
loss.backward()
opt.step()

== update zeroed : *
-- step
loss.backward()
opt.step()
opt.zero_grad(set_to_none=False)

== update clipped : *
-- step
opt.zero_grad(set_to_none=True)
loss.backward()
S.norm = torch.nn.utils.clip_grad_norm_(m.parameters(), 0.5)
opt.step()

== update clipped_values : *
-- step
opt.zero_grad()
loss.backward()
torch.nn.utils.clip_grad_value_(m.parameters(), 0.1)
opt.step()

== update accumulated : *
-- step
(loss / 3).backward()
if S.n % 3 == 2:
    opt.step()
    opt.zero_grad()

== update scaled : *
scaler = torch.amp.GradScaler("cpu")
-- step
opt.zero_grad()
scaler.scale(loss).backward()
scaler.unscale_(opt)
torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
scaler.step(opt)
scaler.update()

== update by_hand : *
-- step
m.zero_grad()
loss.backward()
with torch.no_grad():
    for p in m.parameters():
        if p.grad is not None:
            p -= 0.05 * p.grad

== update assigned : *
-- step
ps = [p for p in m.parameters() if p.requires_grad]
gs = torch.autograd.grad(loss, ps, allow_unused=True)
for p, g in zip(ps, gs):
    p.grad = g
opt.step()

== update perturbed : *
-- step
opt.zero_grad()
loss.backward()
with torch.no_grad():
    total = torch.stack([p.grad.norm() for p in m.parameters() if p.grad is not None]).norm()
    moved = {p: p.grad * (0.05 / (total + 1e-12)) for p in m.parameters() if p.grad is not None}
    for p, e in moved.items():
        p.add_(e)
opt.zero_grad()
F.cross_entropy(m(x, mask), y).backward()
with torch.no_grad():
    for p, e in moved.items():
        p.sub_(e)
opt.step()

== update noisy : *
-- step
opt.zero_grad()
loss.backward()
for p in m.parameters():
    if p.grad is not None:
        p.grad += 0.01 * torch.randn_like(p.grad)
opt.step()

== update finite : *
-- step
opt.zero_grad(set_to_none=True)
if torch.isfinite(loss):
    loss.backward()
    opt.step()
else:
    S.skipped = getattr(S, "skipped", 0) + 1

== update private : * : maps
def private(p, x, y):
    return F.cross_entropy(functional_call(m, p, (x.unsqueeze(0),)), y.unsqueeze(0))
-- step
ps = {k: v for k, v in m.named_parameters() if v.requires_grad}
per = vmap(grad(private), in_dims=(None, 0, 0), randomness="different")(
    {k: v.detach() for k, v in ps.items()}, x, y
)
norm = torch.stack([g.flatten(1).norm(dim=1) for g in per.values()]).norm(dim=0)
factor = (1.0 / (norm + 1e-6)).clamp(max=1.0)
for k, p in ps.items():
    p.grad = torch.einsum("b,b...->...", factor, per[k]) / max(len(y), 1)
opt.step()

== update micro_batches : *
-- step
opt.zero_grad()
loss.backward()
for k, part in enumerate(y.split(4)):
    at = slice(4 * k, 4 * k + len(part))
    F.cross_entropy(m(x[at], None if mask is None else mask[at]), part).mul(0.1).backward()
opt.step()

== update held : *
-- step
opt.zero_grad()
loss.backward(retain_graph=True)
(out.pow(2).mean() * 1e-3).backward()
opt.step()

== update hooked : *
S.grads = {}
m.head.weight.register_hook(lambda g: g * 0.5)
-- step
opt.zero_grad()
loss.backward()
opt.step()

== update closure : * : each
-- step
def closure():
    opt.zero_grad()
    again = F.cross_entropy(m(x, mask), y)
    again.backward()
    return again
opt.zero_grad()
loss.backward()
S.closed = opt.step(closure).item()

== update alternating : *
second = torch.optim.SGD(m.head.parameters(), lr=1e-2)
-- step
m.zero_grad()
loss.backward()
(second if S.n % 2 else opt).step()
"""

AFTER = r"""
== after average : *
averaged = copy.deepcopy(m).requires_grad_(False)
-- step
with torch.no_grad():
    for a, p in zip(averaged.parameters(), m.parameters()):
        a.lerp_(p, 0.01)

== after average_in_state : *
S.average = {k: v.clone() for k, v in m.state_dict().items()}
-- step
for k, v in m.state_dict().items():
    if v.is_floating_point():
        S.average[k].mul_(0.99).add_(v.detach(), alpha=0.01)
    else:
        S.average[k].copy_(v)

== after target : *
target = copy.deepcopy(m)
-- step
if S.n % 5 == 0:
    target.load_state_dict(m.state_dict())

== after metrics : *
S.metrics = {}
-- step
S.metrics["loss"] = loss.item()
S.metrics["acc"] = (out.argmax(-1) == y).float().mean().item()
S.metrics["n"] = S.metrics.get("n", 0) + len(y)

== after averaged_metrics : *
class Meter:
    def __init__(self): self.sum = self.count = 0
    def __call__(self, value, n=1):
        self.sum += value * n
        self.count += n
        return self.sum / max(self.count, 1)
S.meter = Meter()
-- step
S.mean = S.meter(loss.item(), x.size(0))

== after last_losses : *
S.last = collections.deque(maxlen=5)
-- step
S.last.append(loss.item())

== after all_losses : *
S.losses = []
-- step
S.losses.append(loss.detach())

== after log : *
S.log = []
-- step
if S.n % 4 == 0:
    S.log.append((S.n, loss.item()))

== after message : * : each
-- step
S.text = f"step {S.n}: loss {loss.item():.4f}, lr {opt.param_groups[0]['lr']:.2e}"

== after counted : * : each
S.counts = collections.Counter()
-- step
S.counts.update(out.argmax(1).tolist())

== after counted_in_tensor : *
S.confusion = torch.zeros(3, 3, dtype=torch.long)
-- step
S.confusion.index_put_((y, out.argmax(-1)), torch.ones_like(y), accumulate=True)

== after binned : *
S.counted = torch.zeros(9)
-- step
S.counted += torch.bincount(y * 3 + out.argmax(-1), minlength=9)

== after best : *
S.best, S.bad = float("inf"), 0
-- step
now = loss.item()
if now < S.best:
    S.best, S.bad = now, 0
else:
    S.bad += 1

== after smoothed : *
S.smooth = None
-- step
S.smooth = loss.item() if S.smooth is None else 0.9 * S.smooth + 0.1 * loss.item()

== after queue : * : each
S.queue, S.at = torch.zeros(16, 3), 0
-- step
with torch.no_grad():
    rows = out.detach()[:8]
    rows = rows[:16 - S.at]
    S.queue[S.at:S.at + len(rows)] = rows
    S.at = (S.at + len(rows)) % 16

== after ring : *
S.ring = torch.zeros(8)
-- step
S.ring[S.n % 8] = loss.detach()

== after array_log : *
S.curve = np.zeros(64, "f4")
-- step
S.curve[S.n % 64] = loss.item()

== after by_class : * : each
S.by_class = collections.defaultdict(list)
-- step
for c, o in zip(y.tolist(), out.detach().max(-1).values.tolist()):
    S.by_class[c].append(o)

== after tried : *
S.table = {}
-- step
try:
    S.table["n"] += 1
except KeyError:
    S.table["n"] = 0

== after generated : *
def norms_of(m):
    for name, p in m.named_parameters():
        if p.grad is not None:
            yield name, p.grad.norm()
-- step
S.norms = dict(norms_of(m))

== after early : *
-- step
if S.n < 3:
    return loss
S.late = getattr(S, "late", 0) + 1

== after hidden : *
S.h = torch.zeros(3)
-- step
S.h = (0.5 * S.h + out.mean(0)).detach()

== after decided : * : each
-- step
if loss.item() > 1.2:
    S.high = getattr(S, "high", 0) + 1

== after plateau : *
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2, factor=0.5)
-- step
plateau.step(loss.item())

== after lowered_rate : *
-- step
for group in opt.param_groups:
    group["lr"] *= 0.99

== after warmed_up : *
-- step
if S.n < 8:
    for g in opt.param_groups:
        g["lr"] = 0.01 * (S.n + 1) / 8

== after weight_clip : *
-- step
with torch.no_grad():
    m.head.weight.clamp_(-0.5, 0.5)
    m.head.bias.data.mul_(0.999)

== after evaluated : *
-- step
m.eval()
with torch.no_grad():
    S.held_out = m(x, mask).argmax(-1).eq(y).sum()
m.train()

== after inspected : *
-- step
S.shapes = {"x": tuple(x.shape), "out": list(out.size()), "n": out.numel()}

== after timed : * : each
-- step
S.elapsed = time.perf_counter() * 0

== after memory : *
S.memory = torch.zeros(10, 3)
-- step
at = torch.arange(len(y)) % 10
with torch.no_grad():
    S.memory.index_copy_(0, at[:10], out.detach()[:10])

== after swept : *
-- step
with torch.no_grad():
    S.parameter_norm = nn.utils.parameters_to_vector(m.parameters()).norm().item()
"""

RESULTS = r"""
== result loss : *
-- step
return loss

== result number : *
-- step
return loss.item()

== result detached : *
-- step
return loss.detach()

== result both : *
-- step
return loss, out

== result dict : *
-- step
return {"loss": loss.detach(), "acc": (out.argmax(1) == y).float().mean()}

== result numbers : *
-- step
return {
    "loss": loss.item(),
    "right": int((out.argmax(1) == y).sum()),
    "lr": opt.param_groups[0]["lr"],
}

== result named : *
Result = collections.namedtuple("Result", "loss out n")
-- step
return Result(loss.detach(), out.detach(), S.n)

== result object : *
@dataclasses.dataclass
class Result:
    loss: float
    guess: object
-- step
return Result(loss.item(), out.argmax(-1))

== result nothing : *
-- step
S.out = loss.detach()

== result array : *
-- step
return out.detach().numpy(), float(loss)

== result list : * : each
-- step
return out.argmax(-1).tolist()
"""

BETWEEN = """
m.eval()

m.train()

m.train(not m.training)

opt.param_groups[0]["lr"] *= 0.5

opt.param_groups[-1]["lr"] = 1e-3

opt.zero_grad()

kept = m.state_dict(); kept = {k: v.clone() for k, v in kept.items()}

m.load_state_dict({k: v * 0.9 if v.is_floating_point() else v for k, v in m.state_dict().items()})

opt.load_state_dict(copy.deepcopy(opt.state_dict()))

buffer = io.BytesIO()
torch.save(m.state_dict(), buffer)
buffer.seek(0)
m.load_state_dict(torch.load(buffer))

with torch.no_grad(): [p.mul_(0.9) for p in m.parameters()]

with torch.no_grad(): m.head.weight.copy_(torch.randn_like(m.head.weight) * 0.1)

m.head.weight.data = m.head.weight.data * 0.5

m.head.bias.requires_grad_(not m.head.bias.requires_grad)

m.head.weight.grad = None

m.head.reset_parameters()

m.head = nn.Linear(m.head.in_features, 3)
opt.add_param_group({"params": m.head.parameters(), "lr": 0.01})

torch.set_num_threads(3 - min(torch.get_num_threads(), 2))

torch.manual_seed(7)

S.n = 0

S.n += 10

m.zero_grad(set_to_none=False)

m.head.weight.grad = torch.ones_like(m.head.weight)

opt.state.clear()

gc.collect()

m.float()

m.apply(lambda mod: None)

m.seen_outside = 1

handle = m.head.register_forward_hook(lambda mod, a, o: o * 1.01)

handle = m.head.weight.register_hook(lambda g: g * 0.5)
"""

NEW_MODEL = """
m = Net(); opt = {opt}

m = copy.deepcopy(m); opt = {opt}

opt = {opt}
"""
