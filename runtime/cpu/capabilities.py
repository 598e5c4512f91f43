"""What the processor can do."""
import functools
import os
import platform
import re
import types

# LLVM's names of what PyTorch spells in another way, as patterns
SPELLINGS = {r"avx512(\w+)": r"avx512_\1", r"avxvnniint(\d+)": r"avx_vnni_int\1",
             r"avx(vnni|ifma)": r"avx_\1", "avxneconvert": "avx_ne_convert", "fma": "fma3"}


def _spelled(feature):
    """PyTorch's name of one of LLVM's features."""
    for pattern, name in SPELLINGS.items():
        if re.fullmatch(pattern, feature):
            return re.sub(pattern, name, feature)
    return re.sub(r"\W", "_", feature)


@functools.lru_cache(None)
def get_capabilities():
    """What the processor can do, by the name of each kind of instructions, in a mapping that cannot
    be written to. Its other facts are `architecture`, `cpu_name` and `num_logical_cores`.

    >>> import whet
    >>> whet.cpu.get_capabilities()["num_logical_cores"] >= 1
    True
    """
    from whet.passes.lower_llvm import targets
    name, features = targets.processor()
    known = {_spelled(f[1:]): f[0] == "+" for f in features.split(",") if f}
    return types.MappingProxyType(known | {
        "architecture": platform.machine(), "cpu_name": name,
        "num_logical_cores": os.cpu_count()})
