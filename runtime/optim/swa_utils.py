"""Averages of the weights seen during training."""
import math
from copy import deepcopy

import whet

from ..nn.module import Module
from ..nn.norm import _BatchNorm
from ..ops.python_calls import call
from .schedules import LRScheduler, each_group

__all__ = [
    "AveragedModel", "SWALR", "update_bn", "get_ema_multi_avg_fn", "get_ema_avg_fn",
    "get_swa_multi_avg_fn", "get_swa_avg_fn"]


def get_ema_multi_avg_fn(decay=0.999):
    """Exponential moving average of lists of tensors, in place.

    >>> import whet
    >>> from whet.optim.swa_utils import get_ema_multi_avg_fn
    >>> averages = [whet.tensor(4.)]
    >>> get_ema_multi_avg_fn(0.75)(averages, [whet.tensor(8.)], 1)
    >>> averages
    [tensor(5.)]
    """
    _check_decay(decay)

    def average(averaged, current, _):
        with whet.no_grad():
            for a, b in zip(averaged, current):
                if a.is_floating_point() or a.is_complex():
                    a.lerp_(b, 1 - decay)
                else:
                    a.copy_(a * decay + b * (1 - decay))
    return average


def get_swa_multi_avg_fn():
    """Mean of all so far, of lists of tensors, in place.

    >>> import whet
    >>> from whet.optim.swa_utils import get_swa_multi_avg_fn
    >>> averages = [whet.tensor(4.)]
    >>> get_swa_multi_avg_fn()(averages, [whet.tensor(8.)], 3)
    >>> averages
    [tensor(5.)]
    """
    def average(averaged, current, number):
        with whet.no_grad():
            # No Python number: a trace would guard it.
            share = 1 / (whet.as_tensor(number, dtype=whet.float64) + 1)
            for a, b in zip(averaged, current):
                if a.is_floating_point() or a.is_complex():
                    a.lerp_(b, share.to(a.dtype))
                else:
                    a.copy_(a + (b - a) * share)
    return average


def get_ema_avg_fn(decay=0.999):
    """Exponential moving average of a tensor.

    >>> import whet
    >>> from whet.optim.swa_utils import get_ema_avg_fn
    >>> get_ema_avg_fn(0.75)(whet.tensor(4.), whet.tensor(8.), 1)
    tensor(5.)
    """
    _check_decay(decay)

    def average(averaged, current, _):
        with whet.no_grad():
            return decay * averaged + (1 - decay) * current
    return average


def get_swa_avg_fn():
    """Mean of all so far, of a tensor.

    >>> import whet
    >>> from whet.optim.swa_utils import get_swa_avg_fn
    >>> get_swa_avg_fn()(whet.tensor(4.), whet.tensor(8.), 3)
    tensor(5.)
    """
    def average(averaged, current, number):
        with whet.no_grad():
            return averaged + (current - averaged) / (number + 1)
    return average


def _check_decay(decay):
    if not 0 <= decay <= 1:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


class AveragedModel(Module):
    """A copy of a model whose parameters are averages over the calls of `update_parameters`.

    >>> import whet
    >>> from whet.optim.swa_utils import AveragedModel
    >>> model = whet.nn.Linear(1, 1, bias=False)
    >>> averaged = AveragedModel(model)
    >>> for value in (1., 3.):
    ...     _ = whet.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item()
    2.0
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", whet.tensor(0, dtype=whet.int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Take the model's present parameters into the average."""
        def tensors(m):
            return [*m.parameters(), *(m.buffers() if self.use_buffers else ())]

        mine, theirs = (tensors(self.module),
                        [t.detach().to(device=t.device) for t in tensors(model)])
        with whet.no_grad():
            if self.n_averaged == 0:         # a trace guards the answer, not the count
                for a, b in zip(mine, theirs):
                    a.copy_(b)
            elif self.avg_fn is not None:
                for a, b in zip(mine, theirs):
                    a.copy_(self.avg_fn(a.detach(), b, self.n_averaged))
            else:
                (self.multi_avg_fn or get_swa_multi_avg_fn())([a.detach() for a in mine], theirs,
                                                              self.n_averaged)
            if not self.use_buffers:
                for a, b in zip(self.module.buffers(), model.buffers()):
                    a.copy_(b)
            self.n_averaged += 1


def update_bn(loader, model, device=None):
    """Compute the running statistics of all batch norms again, from one pass over the data.

    >>> import whet
    >>> from whet.optim.swa_utils import update_bn
    >>> norm = whet.nn.BatchNorm1d(1)
    >>> update_bn([whet.tensor([[1.], [3.]])], norm)
    >>> norm.running_mean
    tensor([2.])
    """
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None
    with whet.no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, list | tuple) else batch
            model(x if device is None else x.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneal to a fixed rate in `anneal_epochs` epochs, and stay there.

    >>> import whet
    >>> from whet.optim.swa_utils import SWALR
    >>> optimizer = whet.optim.SGD([whet.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> optimizer.param_groups[0]["lr"]
    0.5
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for group, lr in zip(optimizer.param_groups, each_group(optimizer, swa_lr, "swa_lr")):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, t):
        t = max(0, min(1, t))
        return (1 - call("cos", math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self):
        step = self._step_count - 1
        now = self._share(step / max(1, self.anneal_epochs)) if self.anneal_epochs else 1
        before = (self._share(max(0, step - 1)
                              / max(1, self.anneal_epochs)) if self.anneal_epochs else 1)
        rates = []
        for group in self.optimizer.param_groups:
            lr = group["lr"]
            start = lr if before == 1 else (lr - before * group["swa_lr"]) / (1 - before)
            rates.append(group["swa_lr"] * now + start * (1 - now))
        return rates
