# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from whet.dtypes import dtype
from whet.tensor import Tensor
from whet.types import Device, Dims, Ints, Layout


def fft(input: Tensor, n: int | None = None, dim: Dims = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """The transform along a dimension, cut or filled up with zeros to `n`."""
def fft2(input: Tensor, s: Ints | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """`fftn` along two dimensions."""
def fftfreq(n: int, d: float = 1.0, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: bool = False, out: Tensor | None = None) -> Tensor: """The frequencies that `fft` of n samples, d apart, has in its places."""
def fftn(input: Tensor, s: Ints | None = None, dim: Dims | None = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """The transform along several dimensions (all)."""
def fftshift(input: Tensor, dim: Dims | None = None) -> Tensor: """The zero frequency moved to the middle."""
def hfft(input: Tensor, n: int | None = None, dim: Dims = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """The real transform of a signal of which `input` is the first half, the other being its mirror image."""
def hfft2(input: Tensor, s: Ints | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """`hfftn` along two dimensions."""
def hfftn(input: Tensor, s: Ints | None = None, dim: Dims | None = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """`hfft` along several dimensions, the last one being the half."""
def ifft(input: Tensor, n: int | None = None, dim: Dims = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """The inverse of `fft`."""
def ifft2(input: Tensor, s: Ints | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """`ifftn` along two dimensions."""
def ifftn(input: Tensor, s: Ints | None = None, dim: Dims | None = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """The inverse of `fftn`."""
def ifftshift(input: Tensor, dim: Dims | None = None) -> Tensor: """The inverse of `fftshift`."""
def ihfft(input: Tensor, n: int | None = None, dim: Dims = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """The inverse of `hfft`."""
def ihfft2(input: Tensor, s: Ints | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """`ihfftn` along two dimensions."""
def ihfftn(input: Tensor, s: Ints | None = None, dim: Dims | None = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """The inverse of `hfftn`."""
def irfft(input: Tensor, n: int | None = None, dim: Dims = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """The inverse of `rfft`; `n` is the number of real numbers."""
def irfft2(input: Tensor, s: Ints | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """`irfftn` along two dimensions."""
def irfftn(input: Tensor, s: Ints | None = None, dim: Dims | None = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """The inverse of `rfftn`."""
def rfft(input: Tensor, n: int | None = None, dim: Dims = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """The transform of real numbers: its first half, of which the other is the mirror image."""
def rfft2(input: Tensor, s: Ints | None = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """`rfftn` along two dimensions."""
def rfftfreq(n: int, d: float = 1.0, *, dtype: dtype | None = None, layout: Layout | None = None, device: Device | None = None, requires_grad: bool = False, out: Tensor | None = None) -> Tensor: """The frequencies that `rfft` of n samples, d apart, has in its places."""
def rfftn(input: Tensor, s: Ints | None = None, dim: Dims | None = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor: """The transform of real numbers along several dimensions, the last one halved."""
