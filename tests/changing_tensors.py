"""What tests/fuzz_mutations.py draws from: tensors, leaves, models and optimizers outside of a
function, and how they change. It is written as tests/changing_parts.py is."""

TENSORS = r"""
== tensors outside of the function
W, cache, holder = whet.arange(4.0) + 1, whet.zeros(4), {'t': whet.ones(4)}
v = W[1:]
arr = np.arange(4.0, dtype='f4')
seen = whet.from_numpy(arr)
-- reads
y = y * W
y = y + v.sum()
y = y * W[int(n) % 4]
W.mul_(0.5)
v.add_(1)
v[0] = y.sum().detach()
W.data.add_(0.25)
cache.copy_(y.detach())
cache.add_(y.detach()); y = y + cache
holder['t'] = y.detach()
y = y * holder['t']
y = y + whet.from_numpy(arr)
y = y + seen
arr[0] = n
arr += 1
seen.mul_(0.5)
y = y + W.numpy().sum()
y = y * W.sum().item()
y = y if W.sum() > 10 else -y
y = y + W._version
y = y + W.stride(0) + W.storage_offset()
y = y + (W.data_ptr() == v.data_ptr() - 4)
y = y + (holder['t'] is W)
y = y * W.to(y.dtype)
y = y + W.is_contiguous() + W.dim() + W.numel()
W = W + 1
W.resize_(4); y = y + W
W.swapaxes_(0, 0).neg_()
whet.add(y.detach(), 1, out=cache)
-- changes
W = whet.arange(4.0)
W = W.double()
W = whet.arange(8.0)[::2]
W.data = whet.ones(4)
W.data = whet.arange(8.0)[::2]
W.set_(whet.ones(4))
W.mul_(2)
W[0] = 10.0
W.zero_()
v = W[:3]
v = whet.ones(3)
v.fill_(0.5)
W = last_result()
W = cache
cache = whet.ones(4)
cache = W[:]
holder['t'] = W
holder = {'t': cache}
holder['t'] = whet.ones(1)
arr[:] = 2.0
arr = np.ones(4, 'f4')
arr = arr[::-1]
arr.setflags(write=False)
seen = whet.from_numpy(arr.copy())
W.detach().numpy()[1] = 3.0
W = whet.tensor([1.0, float('nan'), -0.0, float('inf')])
W = W.to(whet.int64)
W = W.expand(4)

== leaves, gradients and hooks
leaf = whet.ones(4, requires_grad=True)
other = whet.full((4,), 2.0, requires_grad=True)
handles = []
class Double(whet.autograd.Function):
    by = 2.0
    @staticmethod
    def forward(ctx, v, k): ctx.save_for_backward(v); ctx.k = k; return v * k * Double.by
    @staticmethod
    def backward(ctx, g): return g * ctx.k * Double.by, None
-- reads
(leaf * y.detach()).sum().backward()
leaf.grad = None; (leaf * y.detach()).square().sum().backward()
y = y * leaf
y = y * leaf.detach()
(y.detach() * leaf * other).sum().backward()
y = y + whet.autograd.grad((leaf * n).square().sum(), leaf)[0]
y = y + (leaf.grad if leaf.grad is not None else 0)
y = Double.apply(y * leaf, n)
y = Double.apply(y, n)
g, = whet.autograd.grad((leaf ** 3).sum(), leaf, create_graph=True); g.sum().backward()
leaf.grad = y.detach()
if leaf.grad is not None: leaf.grad.mul_(0.5)
with whet.no_grad(): leaf.add_(y.detach(), alpha=0.1)
z = leaf * 2; z.retain_grad(); z.sum().backward(); y = y + z.grad
z = leaf * y.detach(); z.register_hook(lambda g: g * n); z.sum().backward()
y = y + leaf.requires_grad
y = whet.utils.checkpoint.checkpoint(lambda v: v.sin() * n, y * leaf, use_reentrant=False)
leaf.data.mul_(0.9)
y = y * leaf.is_leaf
-- changes
leaf.grad = None
leaf.grad = whet.ones(4)
leaf.grad = whet.arange(8.0)[::2]
leaf.requires_grad_(False)
leaf.requires_grad_(True)
leaf = whet.ones(4, requires_grad=True)
leaf = other
leaf = (other * 1)
leaf = leaf.detach()
leaf.data = whet.arange(4.0)
leaf.data = whet.arange(8.0)[::2]
leaf.data.zero_()
other.requires_grad_(False)
other.grad = leaf.grad
handles.append(leaf.register_hook(lambda g: g * 2) if leaf.requires_grad else None)
handles.append(other.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(3)))
[h.remove() for h in handles if h]; handles.clear()
Double.by = 3.0
Double.backward = staticmethod(lambda ctx, g: (g * 100, None))
Double.forward = staticmethod(lambda ctx, v, k: v * k)
leaf.grad = leaf.grad.clone() if leaf.grad is not None else None

== a model and its optimizer
model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Dropout(0.5),
                      nn.Linear(4, 4))
opt = optim.Adam(model.parameters(), lr=0.01)
schedule = optim.lr_scheduler.StepLR(opt, 3, 0.5)
hooks = []
def train(v):
    opt.zero_grad()
    loss = model(v[None].expand(3, 4)).square().mean()
    loss.backward()
    opt.step()
    return loss.detach()
-- reads
y = model(y[None].expand(2, 4))[0]
y = y + train(y.detach())
with whet.no_grad(): y = model(y[None].expand(2, 4))[0]
y = model[0](y)
y = y * model[0].weight.detach().sum()
y = y + model.training
y = y + len(list(model.parameters()))
y = y + opt.param_groups[0]['lr']
model[0](y.detach()).sum().backward(); opt.step(); opt.zero_grad(set_to_none=False)
model[1].running_mean.add_(1)
nn.utils.clip_grad_norm_(model.parameters(), 0.1)
schedule.step()
opt.param_groups[0]['lr'] *= 0.9
y = whet.func.functional_call(model[0], {'weight': square}, (y,))
y = y + sum(p.sum() for p in model.parameters()).detach()
model.train(not model.training)
model[0].weight.grad = None
-- changes
model.eval()
model.train()
model[1].eval()
model[3].p = 0.1
model[2] = nn.ReLU()
model[0] = nn.Linear(4, 4)
model[4] = model[0]
model[0].weight = nn.Parameter(whet.eye(4))
model[4].weight = model[0].weight
model[0].bias = None
model[0].weight.data = whet.eye(4).T
model[0].weight.data.mul_(0.5)
model[0].weight.requires_grad_(False)
model.requires_grad_(True)
model.append(nn.Identity())
model.load_state_dict({k: v * 1 for k, v in model.state_dict().items()})
model.load_state_dict({k: t * 0.5 for k, t in model.state_dict().items()}, assign=True)
model.double().float()
hooks.append(model[0].register_forward_hook(lambda m, i, o: o * 2))
hooks.append(model[0].register_forward_pre_hook(lambda m, i: (i[0] + 1,)))
hooks.append(model[4].register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,)))
hooks.pop().remove() if hooks else None
model[0].forward = lambda v: v * 3
vars(model[0]).pop('forward', None)
nn.Linear.extra = 1
nn.utils.parametrize.register_parametrization(model[0], 'weight', nn.Tanh())
nn.utils.parametrize.remove_parametrizations(model[0], 'weight')
opt.param_groups[0]['lr'] = 0.1
opt.param_groups[0]['weight_decay'] = 0.1
opt.param_groups[0]['amsgrad'] = True
opt.add_param_group({'params': [w], 'lr': 0.5})
opt.state.clear()
opt.load_state_dict(opt.state_dict())
opt = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
opt.zero_grad(set_to_none=False)
schedule.gamma = 0.1
schedule = optim.lr_scheduler.ExponentialLR(opt, 0.9)
model[0].weight.grad = whet.ones(4, 4)
model[1].momentum = 0.5
model[1].track_running_stats = False
model[1].running_mean = whet.zeros(4)
model[1].register_buffer('running_var', whet.ones(4))
model[0].__class__ = type('Other', (nn.Linear,), {'forward': lambda self, v: v - 1})
"""
