"""Training flag, grad mode, default dtype and device, threads, generators: modes that are flipped
between calls, or by them."""
import random

import numpy as np
import whet
import whet.nn.functional as F
from whet import nn

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap


@trap
def dropout_and_the_training_flag():
    """Other numbers at each call in training, none in evaluation."""
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    def calls(f):
        for train in (True, False, True):
            model.train(train)
            yield from thrice(lambda: f(ramp(2, 3)))
    return model, calls


@trap
def running_statistics():
    """batch_norm writes to its buffers in training, and reads them in evaluation."""
    model = nn.BatchNorm1d(3)
    def calls(f):
        for train in (True, False, True):
            model.train(train)
            yield from thrice(lambda: (f(ramp(4, 3).exp()), dict(model.state_dict())))
    return model, calls


@trap
def the_flag_of_one_layer():
    """One submodule is frozen in evaluation mode while the model trains."""
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 3), nn.BatchNorm1d(3))
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(4, 3)))
        model[0].eval()
        yield from thrice(lambda: (f(ramp(4, 3)), dict(model.state_dict())))
        model[0].training = True
        yield from thrice(lambda: f(ramp(4, 3)))
    return f, calls


@trap
def the_rate_of_dropout_changes():
    """p is an attribute like any other; 0 and 1 are special."""
    drop = nn.Dropout(0.5)
    def f(x): return drop(x) * 2
    def calls(f):
        for drop.p in (0.5, 0.1, 0.0, 1.0, 0.5):
            yield from thrice(lambda: f(ramp(8)))
    return f, calls


@trap
def functional_dropout_by_argument():
    """training= is an argument of the call, and the mask is new each time."""
    def f(x, training): return F.dropout(x, 0.3, training=training), F.dropout(x, 0.3, training)
    def calls(f):
        for training in (True, False, True):
            yield from thrice(lambda: f(leaf(8), training))
    return f, calls


@trap
def gradients_are_switched_off_outside():
    """no_grad around some of the calls."""
    w = leaf(3)
    def f(x): return (x * w).sum()
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        with whet.no_grad():
            yield from thrice(lambda: f(ramp(3)))
        for _ in range(3):
            f(ramp(3)).backward()
            yield w.grad
    return f, calls


@trap
def gradients_are_switched_off_inside():
    """A part of the function without gradients, and a part of that with them again."""
    w = leaf(3)
    def f(x):
        with whet.no_grad():
            scale = (w * x).norm()
            with whet.enable_grad():
                inner = w * 2
        return (x * w / scale).sum(), scale, inner
    def calls(f):
        for _ in range(4):
            y, scale, inner = f(ramp(3))
            (y + inner.sum()).backward()
            yield y, scale, inner, w.grad
    return f, calls


@trap
def grad_mode_is_left_changed():
    """set_grad_enabled in the function outlives it."""
    w = leaf(3)
    def f(x, on):
        y = x * w
        whet.set_grad_enabled(on)
        return y, x * w
    def calls(f):
        for on in (True, True, True, False, False, False, True, False, True):
            yield f(ramp(3), on), whet.is_grad_enabled()
    return f, calls


@trap
def grad_mode_is_asked_for():
    """is_grad_enabled() decides which way to go."""
    def f(x): return x * 2 if whet.is_grad_enabled() else x * 3
    def calls(f):
        for on in (True, False, True):
            with whet.set_grad_enabled(on):
                yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_decorated_function():
    """@no_grad on a helper, @enable_grad on the function."""
    w = leaf(3)
    @whet.no_grad()
    def target(x): return x * w + 1
    @whet.enable_grad()
    def f(x): return (x * w - target(x)).square().sum()
    def calls(f):
        for on in (True, False, True):
            with whet.set_grad_enabled(on):
                yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def inference_mode():
    """Around the call, inside it, and an inference tensor as an argument of a normal call."""
    w = leaf(3)
    def f(x):
        with whet.inference_mode():
            y = x + 1
        return y, x * 2, outcome(lambda: x * w)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        with whet.inference_mode():
            x = ramp(3)
            yield from thrice(lambda: f(x))
        yield from thrice(lambda: f(x))
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def an_input_begins_to_require_a_gradient():
    """requires_grad of an argument, and of one of two."""
    def f(a, b): return (a * b).exp()
    def calls(f):
        for a, b in ((ramp, ramp), (leaf, ramp), (ramp, leaf), (leaf, leaf), (ramp, ramp)):
            for _ in range(3):
                x, y = a(2), b(2)
                z = f(x, y)
                if z.requires_grad:
                    z.sum().backward()
                yield z, x, y
    return f, calls


@trap
def a_layer_is_frozen():
    """requires_grad_(False) on some of the parameters between calls."""
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    def f(x): return model(x).sum()
    def calls(f):
        for frozen in (None, 0, 2, None):
            for i in (0, 2):
                model[i].requires_grad_(i != frozen)
            for _ in range(3):
                model.zero_grad()
                y = f(ramp(2, 3))
                y.backward()
                yield y, [p.grad for p in model.parameters()]
    return f, calls


@trap
def the_default_dtype_is_flipped():
    """Factories and numbers take their type from it."""
    def f(n): return (whet.ones(3) * 0.1, whet.tensor([1.5]), whet.arange(3) / 2, n + whet.zeros(1),
                      whet.get_default_dtype() is whet.float64)
    def calls(f):
        for dtype in (whet.float32, whet.float64, whet.float32, whet.float16):
            whet.set_default_dtype(dtype)
            yield from thrice(lambda: f(whet.tensor(2)))
    return f, calls


@trap
def the_default_dtype_is_set_inside():
    """An effect of the call on everything after it."""
    def f(x):
        old = whet.get_default_dtype()
        whet.set_default_dtype(whet.float64 if old is whet.float32 else whet.float32)
        return x * whet.ones(2)
    def calls(f):
        for _ in range(6):
            yield f(ramp(2)), whet.ones(1)
    return f, calls


@trap
def the_number_of_threads_is_flipped():
    """A result does not depend on it; but it can be asked for, and set."""
    def f(x, n):
        y = (x @ x.t()).softmax(1).sum(0)
        before = whet.get_num_threads()
        if n:
            whet.set_num_threads(n)
        return y, before
    def calls(f):
        x = ramp(70, 300) / 1e4
        for n in (1, 2, 3):
            whet.set_num_threads(n)
            yield from thrice(lambda: f(x, 0))
        for n in (2, 1, 3):
            yield f(x, n), whet.get_num_threads()
    return f, calls


@trap
def random_numbers_at_each_call():
    """All kinds of them, of shapes and kinds that change how far the generator moves."""
    def f(n):
        p = whet.randperm(n)
        return (whet.rand(n), whet.randn(n, 2), whet.randint(0, 9, (n,)), p,
                whet.bernoulli(whet.full((n,), 0.5)), whet.normal(0.0, 1.0, (3,)))
    def calls(f):
        for n in (3, 4, 3):
            yield from thrice(lambda: f(n))
    return f, calls


@trap
def random_numbers_in_place():
    """normal_, uniform_ and bernoulli_ on arguments and on a captured tensor, and rand_like."""
    noise = whet.zeros(3)
    def f(x):
        noise.normal_(0, 2)
        x.uniform_()
        return x + noise + whet.rand_like(x), whet.empty(2).bernoulli_(0.5)
    def calls(f):
        for _ in range(5):
            x = ramp(3)
            yield f(x), x, noise
    return f, calls


@trap
def a_seed_is_set_inside():
    """manual_seed: the same numbers at each call, and a moved generator after it."""
    def f(x, seed):
        whet.manual_seed(seed)
        return x + whet.randn(3)
    def calls(f):
        for seed in (1, 1, 1, 2, 2, 2, 1):
            yield f(ramp(3), seed), whet.rand(1)
    return f, calls


@trap
def a_generator_of_ones_own():
    """The state of the generator that is given moves, the global one does not; and it can be set
    back."""
    g = whet.Generator().manual_seed(5)
    def f(x, g): return x + whet.randn(3, generator=g), whet.randperm(4, generator=g)
    def calls(f):
        for _ in range(4):
            yield f(ramp(3), g), g.get_state()
        g.manual_seed(5)
        yield from thrice(lambda: f(ramp(3), g))
        yield from thrice(lambda: f(ramp(3), whet.Generator().manual_seed(5)))
    return f, calls


@trap
def the_state_of_the_generator_is_put_back():
    """get_rng_state and set_rng_state, outside and inside: two equal draws."""
    def f(x):
        state = whet.get_rng_state()
        a = whet.rand(3)
        whet.set_rng_state(state)
        return x * a, whet.rand(3) - a, whet.initial_seed()
    def calls(f):
        state = whet.get_rng_state()
        yield from thrice(lambda: f(ramp(3)))
        whet.set_rng_state(state)
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_forked_generator():
    """whet.random.fork_rng: what is drawn within does not move the outer state."""
    def f(x):
        with whet.random.fork_rng():
            a = whet.rand(2)
        return x * a, whet.rand(2)
    def calls(f):
        for _ in range(5):
            yield f(ramp(2))
    return f, calls


@trap
def numbers_of_other_generators():
    """random and numpy.random know nothing of whet's generator."""
    def f(x): return x * random.random() + np.random.rand() + whet.rand(1), random.choice("abc")
    def calls(f):
        for _ in range(4):
            yield f(ramp(2))
        random.seed(3)
        np.random.seed(3)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def anomalies_are_looked_for():
    """detect_anomaly turns a NaN in backward into an error, on some calls."""
    def f(w):
        y = (w.log() * w).sum()
        y.backward()
        return y, w.grad
    def calls(f):
        for on in (False, True, False):
            with whet.autograd.set_detect_anomaly(on):
                yield from thrice(lambda: f(leaf(2)))
                yield outcome(lambda: f(whet.zeros(2, requires_grad=True)))[:2]
    return f, calls


@trap
def the_print_options_are_changed():
    """str(x) is Python's business, and reads a global of whet."""
    def f(x): return str(x * 1.23456789)
    def calls(f):
        try:
            for precision in (4, 2, 6):
                whet.set_printoptions(precision=precision)
                yield from thrice(lambda: f(ramp(2)))
        finally:
            whet.set_printoptions(precision=4)
    return f, calls


@trap
def the_state_of_training_is_passed_on():
    """module.training read as a number and kept in a result."""
    layer = nn.Linear(2, 2)
    s = Box(seen=[])
    def f(x):
        s.seen.append(layer.training)
        return layer(x) * (1 + layer.training)
    def calls(f):
        for train in (True, False, True):
            layer.train(train)
            yield from thrice(lambda: (f(ramp(2)), list(s.seen)))
    return f, calls


@trap
def attention_with_dropout_inside():
    """Random numbers three modules down, in one mode only."""
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.2, batch_first=True)
    def calls(f):
        for train in (True, False, True):
            layer.train(train)
            yield from thrice(lambda: f(ramp(1, 3, 4)))
        yield whet.rand(1)
    return layer, calls


@trap
def modes_are_made_long_before():
    """What `set_grad_enabled` gave outside is entered inside, and modes are left in the order in
    which they began."""
    w, s = ramp(2), Box(mode=whet.set_grad_enabled(True), first=whet.no_grad())
    def f(x, crossed):
        y = x * 2
        with s.mode:
            w.add_(1)
        if crossed:
            second = whet.inference_mode()
            s.first.__enter__(), second.__enter__()
            s.first.__exit__(None, None, None)
            w.mul_(2)
            second.__exit__(None, None, None)
        return y, whet.is_grad_enabled(), whet.is_inference_mode_enabled()
    def calls(f):
        for crossed in (False, True):
            yield from thrice(lambda: (f(leaf(2), crossed), w))
        s.mode = whet.set_grad_enabled(False)
        whet.set_grad_enabled(True)
        for crossed in (False, True):
            yield from thrice(lambda: (f(leaf(2), crossed), w))
    return f, calls
