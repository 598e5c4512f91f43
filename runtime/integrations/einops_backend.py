"""Operations of `einops` on tensors. That the class exists is enough: `einops` asks the subclasses
of its own for the one that a tensor is for."""
import whet
from einops._backends import AbstractBackend


class WhetBackend(AbstractBackend):
    """What `einops` does with tensors, in terms of whet's functions."""
    framework_name = "whet"

    def is_appropriate_type(self, tensor):
        return isinstance(tensor, whet.Tensor)

    def from_numpy(self, x):
        tensor = whet.from_numpy(x)
        return tensor.requires_grad_() if tensor.is_floating_point() else tensor

    def to_numpy(self, x):
        return x.detach().cpu().numpy()

    def arange(self, start, stop):
        return whet.arange(start, stop)

    def transpose(self, x, axes):
        return x.permute(axes)

    def reduce(self, x, operation, axes):
        name = {"min": "amin", "max": "amax"}.get(operation, operation)
        if name in ("sum", "mean", "amin", "amax"):
            return getattr(x, name)(dim=axes)
        for axis in sorted(axes, reverse=True):  # these take one dimension at a time
            x = getattr(x, name)(dim=axis)
        return x

    def stack_on_zeroth_dimension(self, tensors):
        return whet.stack(tensors)

    def add_axis(self, x, new_position):
        return x.unsqueeze(new_position)

    def add_axes(self, x, n_axes, pos2len):
        for position in sorted(pos2len):
            x = x.unsqueeze(position)
        return x.expand([pos2len.get(axis, -1) for axis in range(n_axes)])

    def tile(self, x, repeats):
        return x.repeat(repeats)

    def concat(self, tensors, axis):
        return whet.cat(tensors, dim=axis)

    def is_float_type(self, x):
        return x.is_floating_point()

    def layers(self):
        from . import einops_layers
        return einops_layers

    def einsum(self, pattern, *x):
        return whet.einsum(pattern, *x)
