"""`autograd.Function`: both styles, marks, what may be saved, higher derivatives."""
import gc
import weakref

import numpy as np
import pytest
import whet
from whet.autograd import Function, grad, gradcheck, gradgradcheck
from whet.autograd.function import once_differentiable
from whet.utils.checkpoint import checkpoint


def leaf(*values, dtype=whet.float64):
    return whet.tensor(list(values), dtype=dtype, requires_grad=True)


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y


class Scale(Function):
    """The newer style, with a number and an intermediate result."""

    @staticmethod
    def forward(x, factor):
        y = x * factor
        return y.sin(), y

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.factor = inputs
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, g, h):
        y, = ctx.saved_tensors
        return (g * y.cos() + h) * ctx.factor, None


class Product(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y, None)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y, nothing = ctx.saved_tensors
        assert nothing is None
        return ((g * y if ctx.needs_input_grad[0] else None),
                (g * x if ctx.needs_input_grad[1] else None))


def test_both_styles():
    x = leaf(0.1, 0.2, 0.3)
    y = Exp.apply(x)
    assert y.requires_grad and y.grad_fn.name() == "ExpBackward"
    z, side = Scale.apply(y, 3.0)
    assert (z.requires_grad and side.requires_grad and z.grad_fn is side.grad_fn
            and z.grad_fn.factor == 3)
    g, = grad(z.sum(), x)
    n = np.exp(x.detach().numpy())
    assert np.allclose(g.numpy(), 3 * np.cos(3 * n) * n)
    assert not Exp.apply(x.detach()).requires_grad
    with whet.no_grad():
        assert not Exp.apply(x).requires_grad


@pytest.mark.parametrize("f",
                         [
                             Exp.apply, lambda x: Scale.apply(x, 2.0)[0],
                             lambda x: Product.apply(x, x * 2), lambda x: Product.apply(x, x)])
def test_higher_derivatives(f):
    x = whet.randn(3, dtype=whet.float64, requires_grad=True)
    assert gradcheck(f, x) and gradgradcheck(f, x)


def test_needs_input_grad():
    x, y = leaf(2), whet.tensor([3.0], dtype=whet.float64)
    seen = []

    class F(Function):
        @staticmethod
        def forward(ctx, a, b, c):
            seen.append(ctx.needs_input_grad)
            return a * b

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return g * 3, None, None
    F.apply(x, y, "text").backward()
    assert seen == [(True, False, False)] * 2 and x.grad.item() == 3


def test_missing_gradients_are_zeros_or_none():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            seen.append(h if h is None else h.tolist())
            return g * 2, None
    x = leaf(1, 1)
    Two.apply(x, True)[0].sum().backward()
    Two.apply(x, False)[0].sum().backward()
    assert seen == [[0, 0], None]


def test_marked_dirty():
    class Triple(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.mul_(3)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            assert x.requires_grad
            return g * 3
    w = leaf(1, 2, 3)
    x = w * 2
    v = x[0]
    version = x._version
    y = Triple.apply(x)
    assert y is x and x._version > version and x.grad_fn.name() == "TripleBackward"
    assert grad(v * 5 + x.sum(), w)[0].tolist() == [36, 6, 6]
    with pytest.raises(RuntimeError, match="leaf"):
        Triple.apply(leaf(1.0))
    z = w * 1
    s = z.exp()
    Triple.apply(z)
    s.sum().backward()                  # exp saved its result, not z
    z = w * 1
    s = z.sin()
    Triple.apply(z)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        s.sum().backward()


def test_marked_dirty_view():
    class Triple(Function):
        @staticmethod
        def forward(ctx, other, x):
            ctx.mark_dirty(x)
            ctx.save_for_backward(other)
            x.mul_(other)
            return x

        @staticmethod
        def backward(ctx, g):
            other, = ctx.saved_tensors
            return None, g * other
    w = whet.ones(2, 3, dtype=whet.float64, requires_grad=True)
    x = w * 2
    v, u = x[0], x[1]
    y = Triple.apply(whet.tensor(3.0), v)
    assert y is v
    (x.sum() + 10 * u.sum()).backward()
    assert w.grad.tolist() == [[6, 6, 6], [22, 22, 22]]


def test_outputs_that_are_inputs():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7
    x = leaf(1)
    y = Same.apply(x)
    assert y is not x and x.is_leaf and not y.is_leaf
    y.backward()
    assert x.grad.item() == 7
    assert Same.apply(x.detach()) is not x

    class Side(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_non_differentiable(x)
            return x, x * 2

        @staticmethod
        def backward(ctx, g, h):
            return h * 2
    same, double = Side.apply(x * 1)
    assert not same.requires_grad and double.requires_grad


def test_views_made_in_forward():
    class First(Function):
        @staticmethod
        def forward(ctx, x):
            return x[0]

        @staticmethod
        def backward(ctx, g):
            return g * whet.tensor([1.0, 0.0], dtype=g.dtype)
    x = leaf(4, 5)
    y = First.apply(x)
    (y * 2).backward()
    assert x.grad.tolist() == [2, 0]


def test_saved_outputs_make_no_cycle():
    gc.collect()
    gc.disable()
    try:
        x = leaf(1, 2)
        y = Exp.apply(x)
        ctx, out = weakref.ref(y.grad_fn), weakref.ref(y)
        del y
        assert out() is None and ctx() is None
        y, _ = Scale.apply(x, 2.0)
        node = weakref.ref(y.grad_fn)
        y.sum().backward()
        assert node() is not None
        del y, _
        assert node() is None
    finally:
        gc.enable()


def test_saved_tensors_are_watched_and_freed():
    x, y = leaf(1, 2), leaf(3, 4)
    a = y * 1
    z = Product.apply(x, a)
    a.add_(1)
    with pytest.raises(RuntimeError, match="Product.*version"):
        z.sum().backward()
    z = Product.apply(x, y)
    z.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.sum().backward()


def test_once_differentiable():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return g * 2 * x
    x = leaf(3)
    g, = grad(Square.apply(x) ** 2, x, create_graph=True)
    assert g.item() == 108
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad(g, x)


def test_wrong_backwards_are_refused():
    def function(backward):
        class F(Function):
            @staticmethod
            def forward(ctx, x, y):
                return x * y
        F.backward = staticmethod(backward)
        return F
    x, y = leaf(1, 2), leaf(3, 4)
    for backward, error, text in ((lambda ctx, g: g, RuntimeError, "incorrect number"),
                                  (lambda ctx, g: (g, g, g), RuntimeError, "incorrect number"),
                                  (lambda ctx, g: (g, 1.0), RuntimeError, "expected a Tensor"),
                                  (lambda ctx, g: (g, whet.ones(3, 3)), RuntimeError,
                                   "invalid gradient")):
        with pytest.raises(error, match=text):
            function(backward).apply(x, y).sum().backward()
    function(lambda ctx, g: (g, g, None)).apply(x, y).sum().backward()
    assert x.grad.tolist() == [1, 1]

    class Bare(Function):
        pass
    with pytest.raises(NotImplementedError):
        Bare.apply(x)


def test_hooks_pack_what_functions_save():
    log = []
    x = leaf(1, 2)
    with whet.autograd.saved_tensors_hooks(lambda t: log.append("pack") or t.numpy().copy(),
                                           lambda a: log.append("unpack") or whet.tensor(a)):
        y = Product.apply(x, whet.ones(2, dtype=whet.float64))
    y.sum().backward()
    assert log == ["pack", "pack", "unpack", "unpack"] and x.grad.tolist() == [1, 1]
    with whet.autograd.saved_tensors_hooks(lambda t: t.tolist(),
                                           lambda v: whet.tensor(v, dtype=whet.float64)):
        for f in ((lambda x: Product.apply(x, x), Exp.apply, lambda x: Scale.apply(x, 2.0)[0],
                   lambda x: x * x, lambda x: x.exp())):
            # what is unpacked has the history of what was packed
            assert gradgradcheck(f, x)


def test_a_backward_inside_a_backward():
    class Inner(Function):
        @staticmethod
        def forward(ctx, x):
            with whet.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = (ctx.x ** 3).sum()
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, g):
            with whet.enable_grad():
                r, = grad(ctx.y, ctx.x)
            return g * r
    x = leaf(1, 2)
    (Inner.apply(x * 2) * 10).backward()
    assert x.grad.tolist() == [240, 960]


def test_the_backward_may_be_called_vjp():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 2

    class Both(Double):
        @staticmethod
        def backward(ctx, g):
            return g
    x = leaf(1.0, 2.0)
    assert grad(Double.apply(x).sum(), x)[0].tolist() == [2.0, 2.0]
    assert whet.func.vmap(whet.func.grad(lambda v: Double.apply(v)))(x.detach()).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Both.apply(x).sum().backward()


def test_results_that_are_no_tensors_have_no_gradients():
    class Told(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, "told", None

        @staticmethod
        def backward(ctx, g, *others):
            assert others == (None, None)
            return g * 2
    x = leaf(1.0)
    result, *others = Told.apply(x)
    result.backward()
    assert others == ["told", None] and x.grad.tolist() == [2.0]


def test_what_a_function_must_not_do_is_said():
    class Changes(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x.add_(1))
            return x.clone()

    class Saves(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 3)
            return x.clone()
    with pytest.raises(RuntimeError, match="must all be outputs of the Function"):
        Changes.apply(leaf(1.0) * 1)
    with pytest.raises(TypeError, match="argument 1 is of type int"):
        Saves.apply(leaf(1.0))
    with pytest.raises(RuntimeError, match="use new-style autograd function.*Saves.apply"):
        Saves()(leaf(1.0))


class Keeps(Function):
    """Holds what it gives, as users write who do not save it for the backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.y = x.exp()
        return ctx.y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.y


class Holder:
    """What weak references can be made to."""


def holder_of(make):
    """What holds a tensor that leads back to it, by a weak reference."""
    holder = Holder()
    holder.t = make(holder, leaf(1.0, 2.0))
    return weakref.ref(holder)


CIRCLES = {
    "a hook of a tensor": lambda o, x: (
        y := Keeps.apply(x), y.register_hook(lambda g: g * len(vars(o))))[0],
    "a hook of a node": lambda o, x: (
        y := Keeps.apply(x), y.grad_fn.register_hook(lambda *gs: vars(o) and None))[0],
    "a checkpoint": lambda o, x: checkpoint(lambda x: x.exp().sin() * len(vars(o)), x)}


@pytest.mark.parametrize("circle", CIRCLES)
def test_circles_through_nodes_of_python_are_freed(circle):
    held = holder_of(CIRCLES[circle])
    gc.collect()
    assert held() is None


def test_what_a_function_gives_may_lie_in_its_context():
    node = weakref.ref(Keeps.apply(leaf(1.0, 2.0)).grad_fn)
    gc.collect()
    assert node() is None
    y = Keeps.apply(x := leaf(1.0, 2.0))
    gc.collect()
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()


def test_a_mark_on_what_was_no_input_is_warned_of():
    class Marks(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 3
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 3
    x = leaf(1.0)
    with pytest.warns(UserWarning, match="Only input Tensors should be given to ctx.mark_dirty"):
        y = Marks.apply(x)
    y.backward()
    assert x.grad.item() == 3


def test_a_result_that_is_given_twice_is_one_tensor():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            return y, y

        @staticmethod
        def backward(ctx, first, second):
            return first * 2 + second * 2

    def summed(x):
        first, second = Twice.apply(x)
        assert first is second
        return first + second
    x = leaf(1.0, 2.0)
    assert gradcheck(summed, x) and gradgradcheck(summed, x)


def test_the_context_is_set_up_with_the_arguments_that_were_left_out():
    class Power(Function):
        @staticmethod
        def forward(x, exponent=3):
            return x ** exponent

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.exponent = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return g * ctx.exponent * x ** (ctx.exponent - 1), None
    x = leaf(2.0)
    assert grad(Power.apply(x), x)[0].item() == 12
    assert grad(Power.apply(x, 2), x)[0].item() == 4
    assert whet.func.grad(lambda x: Power.apply(x).sum())(x.detach()).item() == 12
