"""A launch of a kernel that a user wrote, as an op, for those who see ops: traces.

Eagerly a launch is made by itself (`cuda/triton_kernels.py`). Where somebody sees it, it is this
op: in place of the one tensor that the kernel writes to, or with new tensors as results, where it
writes to several, which are then copied over these.
"""
from typing import Any

from .registry import Op

# by name: the kernels that were launched, which attributes name
KERNELS: dict[str, Any] = {}


class GivenKernel(Op):
    """`kernel` names it, `grid` is how many programs there are, `numbers` are its parameters that
    are no tensors. The operands are its tensors in order, `written` those that it writes to by
    position; of a launch in place the first operand is the one that is written to, and belongs
    where `written` says."""
    family = "kernel of a user"
    total = True

    def outlined(self, *arrays, written, **attrs):
        """What the results are like."""
        return tuple([arrays[k] for k in written])

    def forward(self, *arrays, kernel, **attrs):
        """There is no form of it for the CPU."""
        raise RuntimeError(f"the Triton kernel {kernel} has no form for the CPU")

    def on_device(self, arrays, attrs, index):
        """The tensors that are written to, as they are then."""
        from ..cuda import user_kernels
        arrays = list(arrays)
        for k in attrs["written"]:
            arrays[k] = user_kernels.laid_like(arrays[k])
        self._launch(arrays, attrs, index)
        return tuple([arrays[k] for k in attrs["written"]])

    def write_on_device(self, arrays, attrs):
        """The one that is written to comes first."""
        first, *arrays = arrays
        arrays.insert(attrs["written"][0], first)
        self._launch(arrays, attrs, first.index)
        return True

    def _launch(self, arrays, attrs, index):
        from ..cuda import user_kernels
        kernel = KERNELS[attrs["kernel"]]
        user_kernels.run(kernel.source, index, arrays, attrs["numbers"], attrs["grid"],
                          kernel.unspecialised)


given_kernel = GivenKernel("given_kernel", inner=True)
