"""What a device's sensors tell, through NVIDIA's management library (NVML), which comes with the
driver. It is loaded when it is first used."""
import ctypes as C
import functools
import sys
from typing import Any

from . import libcuda
from . import streams as _streams

NAME = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
BUS_ID_LENGTH = 32
# what is asked for by number
SM_CLOCK, CORE_TEMPERATURE = 1, 0
# memory that NVML cannot tell of a process
NOT_AVAILABLE = (1 << 64) - 1
INSUFFICIENT_SIZE = 7


class _Utilization(C.Structure):
    _fields_ = (("gpu", C.c_uint), ("memory", C.c_uint))


class _Memory(C.Structure):
    _fields_ = (("total", C.c_ulonglong), ("free", C.c_ulonglong), ("used", C.c_ulonglong))


class _Process(C.Structure):
    _fields_ = (("pid", C.c_uint), ("used", C.c_ulonglong), ("instance", C.c_uint),
                ("compute_instance", C.c_uint))


@functools.lru_cache(None)
def _library() -> Any:
    missing = libcuda.missing()
    if missing:
        raise RuntimeError(f"no sensors can be read: {missing}")
    try:
        nvml = C.CDLL(NAME)
    except OSError:
        raise RuntimeError(f"no sensors can be read: {NAME} is not installed") from None
    _check(nvml, nvml.nvmlInit_v2())
    return nvml


def _check(nvml: Any, status: int) -> None:
    if status:
        nvml.nvmlErrorString.restype = C.c_char_p
        raise RuntimeError(f"NVML: {nvml.nvmlErrorString(status).decode()}")


@functools.lru_cache(None)
def _handle(index: int) -> C.c_void_p:
    """NVML's handle of a device. Both libraries number devices in their own way, so it is found by
    its place on the bus."""
    nvml, cuda = _library(), libcuda.library()
    device, place, handle = C.c_int(), C.create_string_buffer(BUS_ID_LENGTH), C.c_void_p()
    status = (cuda.cuDeviceGet(C.byref(device), index)
              or cuda.cuDeviceGetPCIBusId(place, BUS_ID_LENGTH, device))
    if status:
        raise RuntimeError(f"no sensors can be read: {libcuda.error_text(status)}")
    _check(nvml, nvml.nvmlDeviceGetHandleByPciBusId_v2(place, C.byref(handle)))
    return handle


def _asked(device: Any, question: str, kind: Any, *first: Any) -> Any:
    """What one function of NVML says of a device."""
    nvml, answer = _library(), kind()
    _check(nvml, getattr(nvml, question)(_handle(_streams.index_of(device)), *first,
                                         C.byref(answer)))
    return answer


def utilization(device: Any = None) -> int:
    """In how many percent of the last sample's time a kernel ran.

    >>> import whet
    >>> whet.cuda.utilization()  # doctest: +SKIP
    98
    """
    return int(_asked(device, "nvmlDeviceGetUtilizationRates", _Utilization).gpu)


def memory_usage(device: Any = None) -> int:
    """In how many percent of the last sample's time the device's memory was read or written.

    >>> import whet
    >>> whet.cuda.memory_usage()  # doctest: +SKIP
    41
    """
    return int(_asked(device, "nvmlDeviceGetUtilizationRates", _Utilization).memory)


def temperature(device: Any = None) -> int:
    """Degrees Celsius of the device.

    >>> import whet
    >>> whet.cuda.temperature()  # doctest: +SKIP
    52
    """
    return int(_asked(device, "nvmlDeviceGetTemperature", C.c_uint, CORE_TEMPERATURE).value)


def power_draw(device: Any = None) -> int:
    """How many milliwatts the device takes.

    >>> import whet
    >>> whet.cuda.power_draw()  # doctest: +SKIP
    412000
    """
    return int(_asked(device, "nvmlDeviceGetPowerUsage", C.c_uint).value)


def clock_rate(device: Any = None) -> int:
    """The clock of the device's processors, in MHz.

    >>> import whet
    >>> whet.cuda.clock_rate()  # doctest: +SKIP
    1980
    """
    return int(_asked(device, "nvmlDeviceGetClockInfo", C.c_uint, SM_CLOCK).value)


def device_memory_used(device: Any = None) -> int:
    """How many bytes of a device's memory all processes have.

    >>> import whet
    >>> whet.cuda.device_memory_used()  # doctest: +SKIP
    5368709120
    """
    return int(_asked(device, "nvmlDeviceGetMemoryInfo", _Memory).used)


def list_gpu_processes(device: Any = None) -> str:
    """The processes that compute on a device and what memory each has, a line each.

    >>> import whet
    >>> print(whet.cuda.list_gpu_processes())  # doctest: +SKIP
    GPU:0
    process       4242 uses     1536.000 MB GPU memory
    """
    nvml, index = _library(), _streams.index_of(device)
    room = C.c_uint(64)
    while True:
        found = (_Process * room.value)()
        count = C.c_uint(room.value)
        status = nvml.nvmlDeviceGetComputeRunningProcesses_v3(_handle(index), C.byref(count), found)
        if status != INSUFFICIENT_SIZE:
            break
        room = C.c_uint(2 * count.value)
    _check(nvml, status)
    lines = [f"GPU:{index}"]
    for process in found[:count.value]:
        used = ("memory not available" if process.used == NOT_AVAILABLE
                else f"{process.used / (1 << 20):>12.3f} MB GPU memory")
        lines.append(f"process {process.pid:>10d} uses {used}")
    return "\n".join(lines if count.value else [*lines, "no processes are running"])
