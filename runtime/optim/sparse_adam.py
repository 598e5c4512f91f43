"""Adam for tables of which a step touches a few rows."""
import whet

from .adam import check_betas
from .optimizer import ByParameter, check, check_rate
from .sparse_gradients import is_sparse


def _touched(g):
    """Which rows (of a gradient with more sparse dimensions: elements) have one, and that."""
    if is_sparse(g):
        g = g.coalesce()
        return tuple(g.indices()), g.values()
    if not g.ndim:
        return ..., g
    rows = (g.reshape(g.shape[0], -1) != 0).any(1).nonzero().squeeze(1)
    return rows, g[rows]


class SparseAdam(ByParameter):
    """Adam that leaves rows without a gradient, and their moments, as they are. Where a gradient is
    dense, a row (along the first dimension) of which all is zero counts as one without.

    >>> import whet
    >>> table = whet.nn.Embedding(3, 2, sparse=True)
    >>> before = table.weight.detach().clone()
    >>> opt = whet.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> table(whet.tensor([1])).sum().backward()
    >>> opt.step()
    >>> (table.weight != before).any(1)
    tensor([False,  True, False])
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_rate(lr)
        check(float(lr) > 0, "learning rate", lr)
        check(eps > 0, "epsilon value", eps)
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        self._refuse(lambda p: p.is_complex(), "Complex params",
                     "SparseAdam does not support complex parameters")
        self._refuse(is_sparse, "Sparse params", "SparseAdam requires dense parameter tensors")

    def _refuse(self, is_wrong, which, why):
        """Raise where parameters are of a kind that has no rows to step by."""
        wrong = [[i, k] for i, group in enumerate(self.param_groups)
                 for k, p in enumerate(group["params"]) if is_wrong(p)]
        if wrong:
            raise ValueError(f"{which} at indices {wrong}: {why}")

    def _update(self, group, p):
        state = self.state[p]
        if not state:
            state.update(step=0, exp_avg=whet.zeros_like(p), exp_avg_sq=whet.zeros_like(p))
        state["step"] += 1
        at, g = _touched(-p.grad if group["maximize"] else p.grad)
        if not g.numel():
            return
        beta1, beta2 = group["betas"]
        m, v = state["exp_avg"][at], state["exp_avg_sq"][at]
        m = m + (g - m) * (1 - beta1)
        v = v + (g * g - v) * (1 - beta2)
        state["exp_avg"][at], state["exp_avg_sq"][at] = m, v
        size = (float(group["lr"]) * (1 - beta2 ** state["step"]) ** 0.5 /
                (1 - beta1 ** state["step"]))
        p[at] = p[at] - size * (m / (v.sqrt() + group["eps"]))
