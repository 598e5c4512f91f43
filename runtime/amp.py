"""Mixed precision: `autocast` makes products in a smaller type, `GradScaler` keeps small gradients
from vanishing in it.

    with whet.autocast("cpu", dtype=whet.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
"""

import sys

from . import declared_for_tracing, devices, dtypes
from .autograd import modes
from .tensor import Tensor

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


class autocast(modes._Mode):
    """Inside, matrix products, convolutions and `prelu` are made in `dtype` (bfloat16). In float32
    are losses, `grid_sample`, `cdist`, `prod`, `trace`, `stft` and the transforms of `fft`,
    whatever their operands are.

    Float64 is left alone, and so is everything else: operands of two types meet in the wider one.

    >>> import whet
    >>> with whet.autocast("cpu"):
    ...     (whet.ones(2, 2) @ whet.ones(2, 2)).dtype
    whet.bfloat16
    """
    __slots__ = ("device_type", "dtype", "enabled")

    def __init__(self, device_type="cpu", dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in ("cpu", "cuda"):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'")
        usual = dtypes.float16 if device_type == "cuda" else dtypes.bfloat16
        self.device_type, self.dtype = device_type, dtypes.as_dtype(dtype or usual)
        if enabled and device_type == "cuda" and not devices.has_cuda():
            modes.warn("User provided device_type of 'cuda', but CUDA is not available. Disabling",
                       stacklevel=2)
            enabled = False
        if enabled and self.dtype not in (dtypes.bfloat16, dtypes.float16):
            modes.warn(
                f"In {device_type.upper()} autocast, but the target dtype is not supported: "
                f"{self.dtype}. Disabling autocast. {device_type.upper()} Autocast only supports "
                "dtype of bfloat16, float16 currently.",
                stacklevel=2)
            enabled = False
        self.enabled = bool(enabled)

    def _clone(self):
        return type(self)(self.device_type, self.dtype, self.enabled)

    def __enter__(self):
        self._before = modes.cast_products(self.dtype if self.enabled else None, self.device_type)
        return self

    def __exit__(self, *exc):
        modes.cast_products(*self._before)


@declared_for_tracing.goes_by_no_size
def is_autocast_enabled(device_type="cuda"):
    """Are products on a kind of devices made in a smaller type, on this thread?"""
    return device_type == modes.state.autocast_for and modes.state.autocast is not None


@declared_for_tracing.goes_by_no_size
def is_autocast_cpu_enabled():
    """Are products on the CPU made in a smaller type, on this thread?"""
    return is_autocast_enabled("cpu")


@declared_for_tracing.goes_by_no_size
def is_autocast_cache_enabled():
    """Is what `autocast` made of a tensor kept for the next op that takes this tensor? It is made
    each time."""
    return False


def clear_autocast_cache():
    """Drop what `autocast` made of tensors: nothing is kept."""


def get_autocast_cpu_dtype():
    """The type that products on the CPU are made in."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype():
    """The type that products on CUDA devices are made in."""
    return get_autocast_dtype("cuda")


def get_autocast_dtype(device_type):
    """The type that products are made in."""
    if is_autocast_enabled(device_type):
        return modes.state.autocast
    return dtypes.float16 if device_type == "cuda" else dtypes.bfloat16


@declared_for_tracing.goes_by_no_size
def is_autocast_available(device_type):
    """Can `autocast` be used for a kind of device?

    >>> import whet
    >>> whet.amp.is_autocast_available("cpu")
    True
    """
    return device_type in ("cpu", "cuda")


def custom_fwd(fwd=None, *, device_type="cuda", cast_inputs=None):
    """For the `forward` of an autograd Function: `cast_inputs` (if given) is the type of its
    tensors, and nothing is cast within.

    >>> import whet
    >>> class Double(whet.autograd.Function):
    ...     @staticmethod
    ...     @whet.amp.custom_fwd(device_type="cpu", cast_inputs=whet.float32)
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @whet.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> with whet.autocast("cpu"):
    ...     Double.apply(whet.ones(2, dtype=whet.bfloat16)).dtype
    whet.float32
    """
    if fwd is None:
        return lambda f: custom_fwd(f, device_type=device_type, cast_inputs=cast_inputs)

    def forward(ctx, *args, **kwargs):
        ctx._cast_to, ctx._cast_for = modes.state.autocast, modes.state.autocast_for
        if cast_inputs is None or modes.state.autocast is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(enabled=False):
            return fwd(
                ctx, *[
                    a.to(cast_inputs) if isinstance(a, Tensor) and a.is_floating_point() else a
                    for a in args], **kwargs)
    return forward


def custom_bwd(bwd=None, *, device_type="cuda"):
    """For the `backward` of an autograd Function: it casts as its forward did.

    >>> import whet
    >>> from whet.amp import custom_bwd, custom_fwd
    >>> class Double(whet.autograd.Function):
    ...     @staticmethod
    ...     @custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = whet.ones(1, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor([2.])
    """
    if bwd is None:
        return lambda f: custom_bwd(f, device_type=device_type)

    def backward(ctx, *gs):
        with autocast(ctx._cast_for, ctx._cast_to, ctx._cast_to is not None):
            return bwd(ctx, *gs)
    return backward


class GradScaler:
    """Scales a loss up before its backward, and gradients down before the step; a step with an
    infinity or NaN among them is left out.

    The scale halves after such a step, and doubles after `growth_interval` good ones.

    >>> import whet
    >>> p = whet.nn.Parameter(whet.ones(2))
    >>> scaler, optimizer = whet.amp.GradScaler("cpu"), whet.optim.SGD([p], lr=0.5)
    >>> scaler.scale(p.sum()).backward()
    >>> scaler.step(optimizer), scaler.update()
    (None, None)
    >>> p.data
    tensor([0.5000, 0.5000])
    """

    def __init__(self, device="cuda", init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5,
                 growth_interval=2000, enabled=True):
        if enabled and device == "cuda" and not devices.has_cuda():
            modes.warn("GradScaler is enabled, but CUDA is not available. Disabling.", stacklevel=2)
            enabled = False
        if enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._enabled = bool(enabled)
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        # tensors, which a trace of a training step changes as it changes weights
        if enabled:
            import whet
            self._scale, self._tracker = (whet.tensor(float(init_scale)),
                                          whet.tensor(0, dtype=whet.int32))
        # id of an optimizer -> (is it unscaled?, was there an infinity or NaN?)
        self._found: dict = {}

    def scale(self, outputs):
        """The tensor (or each of them), times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, list | tuple):
            scaled = [self.scale(x) for x in outputs]
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer):
        """Divide the gradients of an optimizer's parameters by the scale: before they are looked
        at or clipped."""
        if not self._enabled:
            return
        if id(optimizer) in self._found:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update().")
        with modes.no_grad():
            inverse = self._scale.double().reciprocal().float()
            bad = None
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        if p.grad.dtype is dtypes.float16:
                            raise ValueError("Attempting to unscale FP16 gradients.")
                        p.grad.mul_(inverse)
                        wrong = ~p.grad.isfinite().all()
                        bad = wrong if bad is None else bad | wrong
        if bad is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        self._found[id(optimizer)] = bad

    def step(self, optimizer, *args, **kwargs):
        """`optimizer.step()`, unless a gradient is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        return None if self._found[id(optimizer)].item() else optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        """After the steps of an iteration: adapt the scale."""
        if not self._enabled:
            return
        with modes.no_grad():
            if new_scale is not None:
                (self._scale.copy_(new_scale)
                 if isinstance(new_scale, Tensor) else self._scale.fill_(new_scale))
            else:
                if not self._found:
                    raise AssertionError("No inf checks were recorded prior to update.")
                bad = None
                for wrong in self._found.values():
                    bad = wrong if bad is None else bad | wrong
                good = (self._tracker + 1) * ~bad
                grows = good == self._growth_interval
                self._scale.copy_((self._scale * self._backoff_factor).where(
                    bad, (self._scale * self._growth_factor).where(grows, self._scale)))
                self._tracker.copy_(good * ~grows)
        self._found.clear()

    @declared_for_tracing.goes_by_no_size
    def get_scale(self):
        """The scale as a number."""
        return self._scale.item() if self._enabled else 1.0

    @declared_for_tracing.goes_by_no_size
    def get_growth_factor(self):
        """By what the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Let the scale grow by another factor."""
        self._growth_factor = new_factor

    @declared_for_tracing.goes_by_no_size
    def get_backoff_factor(self):
        """By what the scale shrinks after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Let the scale shrink by another factor."""
        self._backoff_factor = new_factor

    @declared_for_tracing.goes_by_no_size
    def get_growth_interval(self):
        """After how many steps without an overflow the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Let the scale grow after another number of steps."""
        self._growth_interval = new_interval

    @declared_for_tracing.goes_by_no_size
    def is_enabled(self):
        """Does it do anything?"""
        return self._enabled

    def state_dict(self):
        """What a checkpoint keeps."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._tracker.item()}

    def load_state_dict(self, state_dict):
        """Go on from a checkpoint."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler.")
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict[
            "backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._scale.fill_(state_dict["scale"])
        self._tracker.fill_(state_dict["_growth_tracker"])


# where PyTorch keeps them
for _name in ("autocast_mode", "grad_scaler"):
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]
