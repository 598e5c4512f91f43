"""Where PyTorch keeps what takes tensors to and from DLPack."""
import enum

import whet

from_dlpack, to_dlpack = whet.from_dlpack, whet.to_dlpack
__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """The numbers that DLPack gives to kinds of devices.

    >>> import whet
    >>> whet.ones(1).__dlpack_device__()[0] == whet.utils.dlpack.DLDeviceType.kDLCPU
    True
    """
    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
