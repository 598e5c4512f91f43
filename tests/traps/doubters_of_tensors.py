"""Programs of doubters: memory, gradients, types and numbers of tensors."""
import copy
import pickle

import numpy as np
import whet
from whet import nn

from tests.traps.harness import Box, leaf, outcome, ramp, shares, thrice, trap


@trap
def results_that_alias_in_every_way():
    """The same tensor twice, a view and its base, a part of an argument, a part of a buffer."""
    buffer = ramp(4)
    def f(x):
        y = x * 2
        return y, y, y[1:], y.view(2, 2), x[:2], buffer[::2], x.detach(), y.t()
    def calls(f):
        for k in range(5):
            x = ramp(4) * k
            out = f(x)
            out[0].add_(1), out[4].mul_(3), out[5].sub_(1)
            yield out, x, buffer, [shares(out[0], o) for o in out], [shares(x, o) for o in out]
            yield [o._base is out[0] for o in out[:4]], out[6]._base is None, out[0] is out[1]
    return f, calls


@trap
def arguments_overlap_by_other_amounts():
    """Two windows on one memory, the one written, the other read; by 0, 1, 2 elements, or none."""
    def f(a, b):
        a.mul_(2)
        b.add_(a.sum())
        return a + 1, b * 1
    def calls(f):
        for shift in (4, 4, 4, 0, 1, 2, 4, 3, 1, 1):
            m = ramp(8)
            yield f(m[:4], m[shift:shift + 4]), m
        m = ramp(8)
        yield f(m[::2], m[1::2]), f(m[::2], m[::2]), f(m[:4].flip(0), m[:4]), m
        e = ramp(1).expand(4)
        yield f(ramp(4), e.clone()), outcome(lambda: f(e, ramp(4)))
    return f, calls


@trap
def the_result_of_one_call_is_written_to_by_the_next():
    """A result is kept by the caller, given back in, and written to in place by the function."""
    def f(x, acc):
        acc += x
        return acc, acc * 1, acc[0]
    def calls(f):
        acc, kept = whet.zeros(2), []
        for k in range(6):
            acc, copy_of, first = f(ramp(2) * k, acc)
            kept.append((copy_of, first))
            yield acc, kept[-1], shares(acc, first), acc._version
        yield kept
    return f, calls


@trap
def a_closed_over_tensor_is_written_to_by_views_of_it():
    """In-place on rows, a transposed view, a masked place and by index, of what lies outside."""
    table = ramp(3, 3)
    row, col = table[1], table.T[2]
    def f(x, i):
        row.add_(x)
        col[0] = x.sum()
        table[table > 20] = 0
        table.index_add_(0, whet.tensor([i, i]), whet.stack([x, x]))
        return table.sum(), row * 1, col * 1, table[i]
    def calls(f):
        for i in (0, 0, 0, 1, 2, 1, 0):
            yield f(ramp(3), i), table, row
        table.zero_()
        yield from thrice(lambda: (f(ramp(3), 1), table))
    return f, calls


@trap
def types_of_results_follow_the_default():
    """Default dtype changes what literals, full, arange, Python numbers and division give."""
    def f(x, k):
        return (whet.tensor([1.5, 2]) + x, whet.full((2,), 1.0), whet.arange(3.0),
                whet.arange(3) / 2,
                x.to(whet.get_default_dtype()) * k, whet.tensor(k), whet.linspace(0, 1,
                                                                                  2), x.int() / 3)
    def calls(f):
        for d in (whet.float32,) * 3 + (whet.float64,) * 3 + (whet.float32, whet.bfloat16,
                                                              whet.float16):
            whet.set_default_dtype(d)
            for k in (2, 2.5, True):
                yield f(ramp(2), k)
        whet.set_default_dtype(whet.float32)
    return f, calls


@trap
def the_dtype_of_an_argument_alternates():
    """Promotion with numbers and tensors of other kinds, at each call another dtype, in place
    too."""
    def f(x, y):
        z = x + y
        w = x.clone()
        w += 1
        total = x.mean() if x.is_floating_point() else x.sum()
        return z, x * 2, x > 1, z.sum(), w, whet.where(x > 0, x, y), total
    def calls(f):
        kinds = (whet.float32, whet.float64, whet.int32, whet.bool, whet.int64, whet.float16,
                 whet.uint8)
        for a in kinds:
            for b in (whet.float32, whet.int64, a):
                yield outcome(lambda: f(ramp(2).to(a), ramp(2).to(b)))
    return f, calls


@trap
def numbers_at_the_ends_of_their_types():
    """NaN, inf, -0.0, denormals, int overflow, shifts, division and remainder of negatives."""
    def f(x, i, k):
        return (x / k, x % 1.5, x // 1.5, x.sign(), x.round(), whet.minimum(x, x.flip(0)), x * 0,
                i * 3, i // -2, i % -3, i << 1, i >> 1, -i, abs(i), i * i, x.max(), x.sort().values,
                (x == x).all(), x.nan_to_num(), i.sum(), i.prod())
    def calls(f):
        nan, inf = float("nan"), float("inf")
        for xs in ([1.0, -0.0, 0.0], [nan, 1.0, -nan], [inf, -inf, 1e-45], [3.4e38, -3.4e38,
                                                                            1e-38]):
            for k in (0.0, -0.0, 2.0, inf):
                yield f(whet.tensor(xs), whet.tensor([2**63 - 1, -2**63, 3]), k)
                yield f(whet.tensor(xs), whet.tensor([127, -128, 5], dtype=whet.int8), k)
    return f, calls


@trap
def items_go_through_python_and_back():
    """.item() in int arithmetic, as an index, a size, a slice, a repeat, a key, a format, a
    range."""
    table = {0: 1.0, 1: 5.0, 2: 7.0}
    def f(x):
        n = int(x.sum().item()) % 3
        m = x.argmax().item()
        y = x[n:] if n else x
        return (y * table[n], x[m], whet.zeros(n + 1), [n] * 2, f"{n}/{m}", x.repeat(n + 1),
                sum(i for i in range(n)), x.tolist()[m], divmod(m + 7, n + 1), -n ** 2, n / (m + 1))
    def calls(f):
        for xs in ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [5.0, 1.0, 1.0], [0.0, 0.0, 2.0], [9.0, 1.0,
                                                                                        0.5]) * 2:
            yield f(whet.tensor(xs))
    return f, calls


@trap
def shapes_depend_on_data_and_are_asked_for():
    """nonzero, unique, masked_select, a while on a shape, cat of a list that data fills,
    bincount."""
    def f(x):
        i = x.nonzero().flatten()
        u, counts = whet.unique(x, return_counts=True)
        kept = x[x > 1]
        rows = [x * k for k in range(kept.numel())]
        while kept.numel() > 1:
            kept = kept[1:] + kept[:-1]
        return (i, u, counts, kept, whet.stack(rows) if rows else x, len(rows),
                whet.bincount(x.long().clamp(min=0)), whet.split(x, [len(i), len(x) - len(i)]))
    def calls(f):
        for xs in ([1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [3.0, 3.0, 3.0], [0.0, 0.0, 0.0], [2.0, 0.0,
                                                                                        5.0]) * 2:
            yield f(whet.tensor(xs))
    return f, calls


@trap
def gradients_are_read_written_and_replaced():
    """.grad is None, is a tensor of the caller's, is shared by two, is zeroed, is read in the
    call."""
    w, v = leaf(2), leaf(2)
    def f(x):
        before = w.grad
        loss = (w * v * x).sum()
        loss.backward()
        if before is not None:
            w.grad.mul_(0.5)
        v.grad = v.grad.clone() if v.grad is not None else None
        return loss.detach(), w.grad * 1, before is w.grad
    def calls(f):
        yield from thrice(lambda: (f(ramp(2)), w.grad, v.grad))
        w.grad = None
        yield f(ramp(2)), w.grad, v.grad
        g = ramp(2)
        w.grad = g
        yield f(ramp(2)), g, w.grad is g
        w.grad = v.grad = ramp(2) * 10
        yield f(ramp(2)), w.grad, v.grad, w.grad is v.grad
        w.requires_grad_(False)
        yield outcome(lambda: f(ramp(2))), w.grad, v.grad
        w.requires_grad_(True)
        v.grad = whet.zeros(2)
        yield from thrice(lambda: (f(ramp(2)), w.grad, v.grad))
    return f, calls


@trap
def flags_of_gradients_are_toggled_inside():
    """requires_grad_ on a fresh tensor, detach in the middle, no_grad around a part,
    set_grad_enabled."""
    w = leaf(2)
    def f(x, on):
        h = (x * w).requires_grad_() if not (x * w).requires_grad else x * w
        with whet.set_grad_enabled(on):
            a = h * w
        with whet.no_grad():
            b = h * 2
        c = (a + b).detach().requires_grad_()
        d = (c * w).sum()
        d.backward()
        return a, b, c.grad, a.requires_grad, c.is_leaf, whet.is_grad_enabled()
    def calls(f):
        for on in (True, True, True, False, False, True):
            yield f(ramp(2), on), w.grad
        w.requires_grad_(False)
        for on in (True, False, True):
            yield outcome(lambda: f(ramp(2), on)), w.grad
    return f, calls


@trap
def functions_of_ones_own_keep_state_on_ctx():
    """autograd.Function with plain attributes on ctx, saved tensors, needs_input_grad, a class
    counter."""
    class Scale(whet.autograd.Function):
        calls = 0
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_backward(x)
            ctx.k = k
            ctx.mark_non_differentiable()
            Scale.calls += 1
            return x * k
        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            Scale.calls += 100
            return g * ctx.k + x, None
    w = leaf(2)
    def f(x, k):
        w.grad = None
        loss = Scale.apply(w * x, k).sum()
        loss.backward()
        return loss.detach(), w.grad
    def calls(f):
        for k in (2.0, 2.0, 2.0, 3.0, 4.0):
            yield f(ramp(2), k), Scale.calls
        Scale.backward = staticmethod(lambda ctx, g: (g * 0, None))
        for k in (2.0, 2.0, 3.0):
            yield f(ramp(2), k), Scale.calls
    return f, calls


@trap
def decorated_by_modes():
    """no_grad, enable_grad and inference_mode as decorators of helpers, under another mode
    outside."""
    w = leaf(2)
    @whet.no_grad()
    def quiet(x): return x * w
    @whet.enable_grad()
    def loud(x): return x * w
    def f(x):
        a, b = quiet(x), loud(x)
        return a, b, (a + b).requires_grad, whet.is_grad_enabled()
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        with whet.no_grad():
            yield from thrice(lambda: f(ramp(2)))
        with whet.inference_mode():
            yield from thrice(lambda: outcome(lambda: f(ramp(2))))
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def hooks_that_keep_what_they_see():
    """Hooks on tensors, parameters and modules append to lists, change gradients, are removed."""
    model, seen, o = nn.Linear(2, 1, bias=False), [], Box(k=1.0)
    with whet.no_grad():
        model.weight.fill_(0.5)
    def f(x):
        model.weight.grad = None
        h = model(x)
        h.sum().backward()
        return h.detach(), model.weight.grad
    def calls(f):
        yield from thrice(lambda: f(ramp(1, 2)))
        a = model.weight.register_hook(lambda g: g * o.k)
        o.k = 3.0
        yield from thrice(lambda: f(ramp(1, 2)))
        b = model.register_forward_hook(lambda m, i, out: seen.append(out.detach()) or out * 2)
        yield from thrice(lambda: (f(ramp(1, 2)), len(seen), seen[-1]))
        o.k = -1.0
        yield f(ramp(1, 2))
        c = model.register_forward_pre_hook(lambda m, i: (i[0] + 1,))
        yield from thrice(lambda: f(ramp(1, 2)))
        a.remove(), b.remove()
        yield from thrice(lambda: (f(ramp(1, 2)), len(seen)))
        c.remove()
        yield from thrice(lambda: f(ramp(1, 2)))
    return f, calls


@trap
def numpy_and_whet_share_what_is_written():
    """from_numpy of an outside array, .numpy() of an outside tensor, both written to in turn."""
    a = np.arange(3, dtype=np.float32)
    t, u = whet.from_numpy(a), ramp(3)
    n = u.numpy()
    def f(x):
        t.add_(x)
        u.mul_(2)
        return t + u, t.sum(), u * 1
    def calls(f):
        yield from thrice(lambda: (f(ramp(3)), a.copy(), n.copy()))
        a[:] = 100
        n[0] = -1
        yield from thrice(lambda: (f(ramp(3)), a.copy(), n.copy()))
        yield np.shares_memory(a, t.numpy()), np.shares_memory(n, u.numpy())
    return f, calls


@trap
def memory_goes_over_by_dlpack():
    """from_dlpack of an array and of a tensor aliases; writes on both sides are seen."""
    a = np.arange(4, dtype=np.float32)
    t = whet.from_dlpack(a)
    def f(x):
        y = whet.from_dlpack(x)
        y.add_(t)
        return y * 2, y.sum()
    def calls(f):
        for k in range(4):
            x = ramp(4)
            yield f(x), x, a.copy()
            np.add(a, k, out=a)
    return f, calls


@trap
def models_are_pickled_and_copied_between_calls():
    """deepcopy, pickle and load_state_dict give other tensors under the same names."""
    o = Box(model=nn.Sequential(nn.Linear(2, 2), nn.Tanh()))
    with whet.no_grad():
        for p in o.model.parameters():
            p.fill_(0.25)
    def f(x): return o.model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(1, 2)))
        other = copy.deepcopy(o.model)
        with whet.no_grad():
            other[0].weight.mul_(3)
        yield f(ramp(1, 2))
        o.model.load_state_dict(other.state_dict())
        yield from thrice(lambda: f(ramp(1, 2)))
        o.model = pickle.loads(pickle.dumps(o.model))
        yield from thrice(lambda: f(ramp(1, 2)))
        o.model[0].weight = other[0].weight
        with whet.no_grad():
            other[0].weight.zero_()
        yield from thrice(lambda: f(ramp(1, 2)))
        o.model[0].load_state_dict({"weight": ramp(2, 2), "bias": ramp(2)}, assign=True)
        yield from thrice(lambda: f(ramp(1, 2)))
    return f, calls


@trap
def a_buffer_comes_midway():
    """register_buffer in the first forward, non-persistent ones, None buffers, a lazy shape."""
    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", None)
        def forward(self, x):
            if self.mean is None:
                self.register_buffer("count", whet.tensor(0), persistent=False)
                self.mean = whet.zeros_like(x)
            self.count += 1
            self.mean = self.mean + (x - self.mean) / self.count
            return x - self.mean
    m = Mean()
    def f(x): return m(x)
    def calls(f):
        for k in range(6):
            yield f(ramp(2) * k), m.count, m.mean, sorted(m.state_dict())
        m.mean = None
        for k in range(4):
            yield f(ramp(3) * k), m.count, m.mean
        del m.count
        yield outcome(lambda: f(ramp(3)))
    return f, calls


@trap
def modes_of_parts_of_a_model_are_switched():
    """eval on one child, dropout probability, momentum, track_running_stats, affine set to None."""
    m = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout(0.5), nn.Linear(2, 2))
    with whet.no_grad():
        m[2].weight.fill_(0.5), m[2].bias.zero_()
    def f(x): return m(x), m[0].running_mean * 1, m.training, m[1].training
    def calls(f):
        x = ramp(3, 2)
        yield from thrice(lambda: f(x))
        m[1].eval()
        yield from thrice(lambda: f(x))
        m[0].momentum = 0.9
        yield from thrice(lambda: f(x))
        m[0].momentum = None
        yield from thrice(lambda: (f(x), m[0].num_batches_tracked))
        m.eval()
        yield from thrice(lambda: f(x))
        m[0].train()
        m[0].eps = 1.0
        yield from thrice(lambda: f(x))
        m[1].train()
        m[1].p = 0.1
        yield from thrice(lambda: f(x))
    return f, calls


@trap
def optimizers_whose_groups_change():
    """A second group midway, other lr and momentum, maximize flipped, state deleted, params
    frozen."""
    a, b = leaf(2), leaf(2)
    opt = whet.optim.SGD([a], lr=0.1, momentum=0.9)
    def f(x):
        opt.zero_grad()
        loss = (a * b * x).sum()
        loss.backward()
        opt.step()
        return loss.detach()
    def calls(f):
        yield from thrice(lambda: (f(ramp(2)), a, b))
        opt.add_param_group({"params": [b], "lr": 0.01, "weight_decay": 0.1})
        yield from thrice(lambda: (f(ramp(2)), a, b))
        opt.param_groups[0]["lr"] *= 0.5
        opt.param_groups[1]["momentum"] = 0.0
        yield from thrice(lambda: (f(ramp(2)), a, b))
        opt.param_groups[0]["maximize"] = True
        yield from thrice(lambda: (f(ramp(2)), a, b))
        opt.state.clear()
        yield from thrice(lambda: (f(ramp(2)), a, b))
        a.requires_grad_(False)
        yield from thrice(lambda: (f(ramp(2)), a, b))
        opt.load_state_dict(copy.deepcopy(opt.state_dict()))
        yield from thrice(lambda: (f(ramp(2)), a, b))
    return f, calls


@trap
def subclasses_of_tensors_and_parameters():
    """A Tensor subclass with a method, a Parameter with an attribute, results of mixed types."""
    class Named(whet.Tensor):
        def twice(self): return self * 2
    class Scaled(nn.Parameter):
        pass
    p = Scaled(ramp(2))
    p.gain = 2.0
    def f(x):
        y = x.twice() if isinstance(x, Named) else x + 1
        return y * p * p.gain, type(y).__name__, type(p * 1).__name__
    def calls(f):
        n = ramp(2).as_subclass(Named) if hasattr(whet.Tensor, "as_subclass") else ramp(2)
        for x in (ramp(2), n, ramp(2), n, n):
            yield outcome(lambda: f(x))
        p.gain = 5.0
        Named.twice = lambda self: self * 3
        for x in (ramp(2), n, n):
            yield outcome(lambda: f(x))
    return f, calls


@trap
def seeds_and_forks_of_generators():
    """manual_seed inside on some calls, a state that is read and put back, own generators,
    dropout."""
    g = whet.Generator()
    def f(x, seed):
        if seed:
            whet.manual_seed(seed)
        a = whet.rand(2)
        s = whet.get_rng_state()
        b = whet.randn(2, generator=g)
        whet.set_rng_state(s)
        return x + a, b, whet.rand(2), whet.nn.functional.dropout(x, 0.5)
    def calls(f):
        g.manual_seed(1)
        for seed in (0, 0, 0, 7, 7, 0, 8, 0):
            yield f(ramp(2), seed), whet.rand(1)
        g.manual_seed(1)
        for seed in (0, 7, 0):
            yield f(ramp(2), seed), g.get_state().tolist()[:2]
    return f, calls


@trap
def warnings_and_errors_of_operations():
    """A shape error on some calls, an index error by data, an assertion with text, in-place on a
    leaf."""
    w = leaf(2)
    def f(x, how):
        if how == "shape":
            return x @ whet.ones(5)
        if how == "index":
            return x[int(x.sum())]
        if how == "assert":
            assert (x < 2).all(), f"too large: {x.max().item():.2f}"
        if how == "leaf":
            w.add_(1)
        return x * w
    def calls(f):
        for how in ("", "", "", "shape", "index", "assert", "leaf", "", "shape", "assert") * 2:
            yield outcome(lambda: f(ramp(2) * (1 + (how == "assert")), how))
        yield outcome(lambda: f(whet.tensor([0.0, 1.0]), "index")), outcome(lambda: f(ramp(2) * 9,
                                                                                      "assert"))
    return f, calls


@trap
def strides_and_layouts_come_out_as_they_do():
    """Contiguous or not, expanded, of negative step by flip, channels last, empty, 0-d."""
    def f(x):
        y = x * 2
        return (y, x.t() if x.dim() == 2 else x, y.stride(), y.is_contiguous(), x.contiguous() is x,
                x.reshape(-1), shares(x.reshape(-1), x) if x.numel() else None, x.clone().stride(),
                whet.empty_like(x).stride(), (x + x.clone().contiguous()).stride())
    def calls(f):
        m = ramp(3, 4)
        for x in (m, m, m.t(), m.t(), m[:, ::2], m.expand(2, 3, 4), ramp(1).expand(3), m[:0], m[0,
                                                                                                0],
                  m.flip(0), ramp(2, 3, 2, 2).to(memory_format=whet.channels_last), m[1:2].t()):
            yield f(x)
    return f, calls
