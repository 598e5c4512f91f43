"""Transforms of functions inside of what is traced: batches, forward mode, Jacobians, in each other
and over what is outside."""
from whet import func

from tests.traps.harness import leaf, outcome, ramp, trap


@trap
def gradients_of_samples_by_weights_that_change():
    """The weights are outside of the transform; they are written to between the calls."""
    w = ramp(3)
    def f(x): return func.vmap(func.grad(lambda r: (r * w).sin().sum()))(x)
    def calls(f):
        for k in range(4):
            yield f(ramp(4, 3) * (k + 1))
            w.add_(0.25)
    return f, calls


@trap
def a_product_with_a_hessian_in_a_training_step():
    """Forward mode over a gradient, whose result goes into the `.grad` of a leaf outside."""
    w = leaf(3)
    def f(x, v):
        hv = func.jvp(func.grad(lambda z: (z ** 3 * w).sum()), (x,), (v,))[1]
        hv.sum().backward()
        return hv
    def calls(f):
        for k in range(4):
            yield f(ramp(3) + k, ramp(3)).detach(), w.grad
    return f, calls


@trap
def a_batch_is_written_into_memory_from_outside():
    """What a vmapped function writes to its argument is seen by the caller."""
    def f(x, k): return func.vmap(lambda r: r.mul_(k))(x).sum()
    def calls(f):
        for k in range(4):
            x = ramp(2, 3)
            yield f(x, float(k)), x
    return f, calls


@trap
def a_batch_asks_for_a_number():
    """The error is the same each time, and what was done before stays done."""
    done = ramp(2)
    def f(x):
        done.add_(1)
        return outcome(lambda: func.vmap(lambda r: r * 2 if r.sum() > 0 else r)(x))[:1]
    def calls(f):
        for _ in range(4):
            yield f(ramp(2, 3)), done.clone()
    return f, calls


@trap
def jacobians_of_a_function_that_looks_at_its_mode():
    """A closed-over Python value decides what is differentiated."""
    mode = {"scale": 1.0}
    def f(x): return (func.jacrev(lambda r: (r * mode["scale"]).exp())(x),
                      func.jacfwd(lambda r: (r * mode["scale"]).exp())(x))
    def calls(f):
        for k in range(5):
            mode["scale"] = 1.0 + k % 2
            yield f(ramp(3))
    return f, calls


@trap
def a_tensor_kept_from_inside_of_a_batch():
    """It cannot be used after the call, traced or not."""
    def f(x):
        kept = []
        y = func.vmap(lambda r: kept.append(r * 2) or r.sum())(x)
        return y, outcome(lambda: kept[0] + 1)[:1]
    def calls(f):
        for k in range(4):
            yield f(ramp(2, 3) + k)
    return f, calls
