"""L-BFGS: a quasi-Newton method with a short memory."""
import math
from dataclasses import dataclass

import whet

from ..ops.python_calls import as_float
from .optimizer import Optimizer, check_rate, reevaluate


class LBFGS(Optimizer):
    """Minimises a closure over one group of parameters; `line_search_fn="strong_wolfe"` searches
    along each direction.

    >>> import whet
    >>> w = whet.nn.Parameter(whet.tensor([1.0, -2.0]))
    >>> opt = whet.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     opt.zero_grad()
    ...     loss = ((w - 3) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> opt.step(closure).item()
    29.0
    >>> w.detach()
    tensor([3.0000, 3.0000])
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7,
                 tolerance_change=1e-9, history_size=100, line_search_fn=None):
        check_rate(lr)
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        super().__init__(
            params, {
                "lr": lr, "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
                "history_size": history_size, "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    # ---- all parameters as one vector ------------------------------------------------------------
    @property
    def _reals(self):
        return [
            whet.view_as_real(p) if p.is_complex() else p for p in self.param_groups[0]["params"]]

    def _gradient(self):
        parts = []
        for p in self.param_groups[0]["params"]:
            g = whet.zeros_like(p) if p.grad is None else p.grad
            parts.append((whet.view_as_real(g) if g.is_complex() else g).reshape(-1))
        return whet.cat(parts)

    def _move(self, t, direction):
        at = 0
        for p in self._reals:
            p.add_(direction[at:at + p.numel()].reshape(p.shape), alpha=t)
            at += p.numel()

    # ---- the method ------------------------------------------------------------------------------
    def step(self, closure):
        """Up to `max_iter` iterations; `closure` clears the gradients, computes the loss, and
        calls backward."""
        with whet.no_grad():
            return self._minimise(closure)

    def _minimise(self, closure):
        group = self.param_groups[0]
        lr, max_eval, tolerance_change = (as_float(group["lr"]), group["max_eval"],
                                          group["tolerance_change"])
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = reevaluate(closure)
        loss, evaluations = as_float(first_loss), 1
        state["func_evals"] += 1
        gradient = self._gradient()

        def is_flat(g):
            return g.abs().max().item() <= group["tolerance_grad"]
        if is_flat(gradient):
            return first_loss
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group["history_size"])
            state["d"], state["prev_flat_grad"] = direction, gradient.clone()
            state["prev_loss"] = loss
            state["t"] = t = (min(1.0, 1.0 / gradient.abs().sum().item())
                              * lr if state["n_iter"] == 1 else lr)
            slope = gradient.dot(direction).item()
            if slope > -tolerance_change:
                break
            before, used, flat = loss, 0, False
            if group["line_search_fn"]:
                loss, gradient, t, used = self._search(closure, t, direction,
                                                       _Point(0, loss, gradient, slope),
                                                       tolerance_change, max_eval - evaluations)
                state["t"] = t
                self._move(t, direction)
                flat = is_flat(gradient)
            else:
                self._move(t, direction)
                # the loss after the last step is not used
                if iteration != group["max_iter"]:
                    loss, gradient, used = as_float(reevaluate(closure)), self._gradient(), 1
                    flat = is_flat(gradient)
            evaluations += used
            state["func_evals"] += used
            if (flat or evaluations >= max_eval
                    or (direction * t).abs().max().item() <= tolerance_change
                    or abs(loss - before) < tolerance_change):
                break
        return first_loss

    @staticmethod
    def _direction(state, gradient, history_size):
        """Minus the inverse Hessian, as far as it is known, times the gradient."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=(), H_diag=1.0)
            return gradient.neg()
        ys, ss, ro = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = y.dot(s).item()
        if curvature > 1e-10:
            # They are set again, and numbers in a tuple: a trace takes these whatever they hold.
            first = len(ys) == history_size
            state["old_dirs"] = ys = [*ys[first:], y]
            state["old_stps"] = ss = [*ss[first:], s]
            state["ro"] = ro = (*ro[first:], 1.0 / curvature)
            state["H_diag"] = curvature / y.dot(y).item()
        alphas = [0.0] * len(ys)
        q = gradient.neg()
        for i in reversed(range(len(ys))):
            alphas[i] = ss[i].dot(q).item() * ro[i]
            q = q.add(ys[i], alpha=-alphas[i])
        # PyTorch has room for them in the state, though each step computes them anew.
        state["al"] = whet.zeros(max(history_size, len(ys)), dtype=whet.float64)
        if ys:
            state["al"][:len(ys)] = whet.tensor(alphas, dtype=whet.float64)
        q = q * state["H_diag"]
        for i, (y, s) in enumerate(zip(ys, ss)):
            q = q.add(s, alpha=alphas[i] - y.dot(q).item() * ro[i])
        return q

    def _search(self, closure, t, direction, start, tolerance_change, most):
        """A step length that meets the strong Wolfe conditions: (loss, gradient, length,
        evaluations)."""
        held = [p.clone() for p in self._reals]

        def at(t):
            self._move(t, direction)
            loss, g = as_float(reevaluate(closure)), self._gradient()
            for p, x in zip(self._reals, held):
                p.copy_(x)
            return _Point(t, loss, g, g.dot(direction).item())
        return _strong_wolfe(at, t, start, direction.abs().max().item(), tolerance_change, most)


@dataclass
class _Point:
    """A place on the line of search."""
    t: float
    loss: float
    gradient: "whet.Tensor"
    slope: float


def _strong_wolfe(at, t, start, length, tolerance_change, most, c1=1e-4, c2=0.9):
    """Nocedal and Wright, algorithms 3.5 and 3.6: bracket a good step, then close in on it."""
    def climbs(p):
        return p.loss > start.loss + c1 * p.t * start.slope

    def is_good(p):
        return abs(p.slope) <= -c2 * start.slope
    before, new, tries, bracket = start, at(t), 0, None
    evaluations = 1
    while tries < most:
        if climbs(new) or (tries > 1 and new.loss >= before.loss):
            bracket = [before, new]
        elif is_good(new):
            return new.loss, new.gradient, new.t, evaluations
        elif new.slope >= 0:
            bracket = [before, new]
        if bracket:
            break
        t = _cubic(before, new, new.t + 0.01 * (new.t - before.t), new.t * 10)
        before, new = new, at(t)
        evaluations += 1
        tries += 1
    low, high = sorted(bracket or [start, new], key=lambda p: p.loss)
    stuck = False
    while tries < most and abs(high.t - low.t) * length >= tolerance_change:
        left, right = min(low.t, high.t), max(low.t, high.t)
        t, edge = _cubic(low, high, left, right), 0.1 * (right - left)
        # too near an end: allowed once, then moved away from it
        near = min(right - t, t - left) < edge
        if near and (stuck or t >= right or t <= left):
            t = right - edge if abs(t - right) < abs(t - left) else left + edge
            near = False
        stuck = near
        new = at(t)
        evaluations += 1
        tries += 1
        if climbs(new) or new.loss >= low.loss:
            high = new
            if high.loss < low.loss:
                low, high = high, low
            continue
        done = is_good(new)
        if not done and new.slope * (high.t - low.t) >= 0:
            high = low
        low = new
        if done:
            break
    return low.loss, low.gradient, low.t, evaluations


def _cubic(a, b, left, right):
    """Where the cubic through two points with their slopes is least, kept within [left, right]."""
    if a.t > b.t:
        a, b = b, a
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t) if a.t != b.t else math.nan
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (left + right) / 2
    d2 = math.sqrt(square)
    below = b.slope - a.slope + 2 * d2
    if below == 0:
        return (left + right) / 2
    return min(max(b.t - (b.t - a.t) * ((b.slope + d2 - d1) / below), left), right)
