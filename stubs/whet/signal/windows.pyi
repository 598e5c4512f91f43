# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from whet.dtypes import dtype
from whet.tensor import Tensor
from whet.types import Device, Layout, Number


def bartlett(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: bool = False) -> Tensor: """A triangle."""
def blackman(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: bool = False) -> Tensor: """The Blackman window."""
def cosine(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: bool = False) -> Tensor: """Half a period of a sine."""
def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: bool = False) -> Tensor: """exp(-|k - center| / tau)."""
def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: bool = False) -> Tensor: """The bell of a normal distribution."""
def general_cosine(M: int, *, a: Sequence[float], sym: bool = True, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: bool = False) -> Tensor: """A sum of cosines with the weights `a`, of alternating signs."""
def general_hamming(M: int, *, alpha: Number = 0.54, sym: bool = True, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: bool = False) -> Tensor: """alpha - (1 - alpha) * cos of one period."""
def hamming(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: bool = False) -> Tensor: """The Hamming window."""
def hann(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: bool = False) -> Tensor: """The Hann window."""
def kaiser(M: int, *, beta: Number = 12.0, sym: bool = True, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: bool = False) -> Tensor: """The Kaiser window: narrow for a large `beta`."""
def nuttall(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: bool = False) -> Tensor: """Nuttall's minimum window of four terms."""
