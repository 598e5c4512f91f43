"""Where PyTorch keeps what takes tensors to and from DLPack."""
import whet

from_dlpack, to_dlpack = whet.from_dlpack, whet.to_dlpack
__all__ = ["from_dlpack", "to_dlpack"]
