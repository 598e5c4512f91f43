"""Attention beside the layers of `nn.transformer`: `flex_attention`, whose scores functions of
positions change, and how programs choose among PyTorch's kernels of attention. There is one here,
whose bits do not depend on a choice."""
import contextlib
import enum

from ...lazy_names import lazy_names as _lazy_names

# where they are in files of before
from ..transformer import MultiheadAttention as MultiheadAttention
from ..transformer import Transformer as Transformer
from ..transformer import TransformerDecoder as TransformerDecoder
from ..transformer import TransformerDecoderLayer as TransformerDecoderLayer
from ..transformer import TransformerEncoder as TransformerEncoder
from ..transformer import TransformerEncoderLayer as TransformerEncoderLayer

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """PyTorch's kernels of attention, by name."""
    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Inside, PyTorch takes one of these kernels of attention. Here all of them are the same.

    >>> from whet.nn.attention import SDPBackend, sdpa_kernel
    >>> with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
    ...     pass
    """
    wanted = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not wanted or not all(isinstance(b, SDPBackend) for b in wanted):
        raise AssertionError(
            f"Backend must be an instance of SDPBackend or a list of them, got {backends!r}")
    yield


__getattr__, __dir__ = _lazy_names(__name__, modules={"flex_attention": "flex_attention"})
