"""What PyTorch's programs call of a model that they load: the methods of modules."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from whet.tensor import Tensor


class ModuleMethods:
    """Methods of modules for a graph of constants. It is what it is: it stays in eval mode, on the
    CPU, and in its types; what asks for something else raises."""
    name: str
    constants: dict[str, Tensor]
    training = False

    def eval(self) -> Self:
        """The function itself, which is for inference."""
        return self

    def train(self, mode: bool = True) -> Self:
        """The function itself for `mode=False`; it cannot be trained."""
        if mode:
            raise RuntimeError(f"{self.name} was exported for inference: train the module that it "
                               "was exported from, and export it again")
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The function itself, for a device and a type that it has already."""
        for t in self.constants.values():
            if t.is_floating_point() and t.to(*args, **kwargs) is not t:
                raise RuntimeError(f"{self.name} was exported for the CPU, with parameters of "
                                   f"{t.dtype}: move the module, and export it again")
        return self

    def cpu(self) -> Self:
        """The function itself."""
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """The function itself for `requires_grad=False`; constants have no gradients."""
        return self.train(requires_grad)

    def state_dict(self) -> OrderedDict[str, Tensor]:
        """The constants by name.

        >>> import whet
        >>> list(whet.export(whet.nn.Linear(3, 2).eval(), whet.ones(4, 3)).state_dict())
        ['weight', 'bias']
        """
        return OrderedDict(self.constants)

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Names and constants."""
        return iter(self.constants.items())

    def parameters(self) -> Iterator[Tensor]:
        """The constants."""
        return iter(self.constants.values())
