"""Adafactor: second moments of matrices as one row and one column."""
import whet

from .optimizer import ByParameter, check_bound, check_rate
from .sparse_gradients import is_sparse, refused


class Adafactor(ByParameter):
    """Steps relative to the size of the parameter, scaled by a factored estimate of the
    gradient's square.

    >>> import whet
    >>> w = whet.nn.Parameter(whet.tensor([1.0, -2.0]))
    >>> opt = whet.optim.Adafactor([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.detach()
    tensor([ 0.8419, -1.8419])
    """

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0,
                 *, foreach=None, maximize=False):
        check_rate(lr, "Learning rate should be >= 0 but is")
        check_bound(beta2_decay <= 0, "beta2_decay should be <= 0 but is", beta2_decay)
        check_bound(eps[0] is None or eps[0] >= 0, "epsilon1 should be >= 0 but is", eps[0])
        check_bound(eps[1] >= 0, "epsilon2 should be >= 0 but is", eps[1])
        check_bound(d >= 1, "Clipping threshold d should be >= 1 but is", d)
        check_bound(weight_decay >= 0, "weight_decay should be >= 0 but is", weight_decay)
        super().__init__(
            params, {
                "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
                "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize})

    def _update(self, group, p):
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if is_sparse(p.grad):
            raise refused(self)
        state, g = self.state[p], -p.grad if group["maximize"] else p.grad
        if not state:
            state["step"] = whet.tensor(0.0, dtype=whet.float32)
            if p.ndim > 1:
                state["row_var"] = g.new_zeros((*g.shape[:-1], 1))
                state["col_var"] = g.new_zeros((*g.shape[:-2], 1, g.shape[-1]))
            else:
                state["variance"] = whet.zeros_like(g)
        eps1, eps2 = group["eps"]
        if eps1 is None:
            eps1 = whet.finfo(p.dtype).eps
        state["step"] += 1
        step = state["step"].to(whet.float64)
        lr = group["lr"].to(whet.float64) if whet.is_tensor(group["lr"]) else group["lr"]
        rest = step ** group["beta2_decay"]                  # 1 - beta2
        size = ((1 / step.sqrt()).clamp(max=lr) *
                (p.norm(2).to(whet.float64) / p.numel() ** 0.5).clamp(min=eps2))
        if group["weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        if p.ndim > 1:
            row, col = state["row_var"], state["col_var"]
            row.lerp_(g.norm(dim=-1, keepdim=True).square() / g.shape[-1], rest.to(row.dtype))
            col.lerp_(g.norm(dim=-2, keepdim=True).square() / g.shape[-2], rest.to(col.dtype))
            estimate = row @ col / row.mean(dim=-2, keepdim=True).clamp(min=eps1)
        else:
            variance = state["variance"]
            variance.lerp_(g.square(), rest.to(variance.dtype))
            estimate = variance.clone()
        update = estimate.clamp(min=eps1 * eps1).rsqrt() * g
        clip = (update.norm(2).to(whet.float64) / (p.numel() ** 0.5 * group["d"])).clamp(min=1.0)
        p.sub_(update * (size / clip).to(p.dtype))
