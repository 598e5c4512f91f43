"""Flat images: object code that is loaded with mmap alone, without LLVM.

`flatten` lays out the sections of an x86-64 ELF object once and resolves what refers to the object
itself. What refers to the outside (libc, CPython, our own tables) goes through slots at the end of
the image, one address each, that `load` fills before it makes the memory executable and read-only.
Anything else is refused: LLVM loads such an object.
"""
import ctypes as C
import functools
import mmap
import platform
import struct
import sys

_PC32, _PLT32, _GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX = 2, 4, 9, 41, 42
_STUB = b"\xff\x25"                      # jmp *slot(%rip)
ALIGN = 64
SUPPORTED = sys.platform == "linux" and platform.machine() == "x86_64" and C.sizeof(C.c_void_p) == 8


class Image:
    """Position-independent code and constants; where its functions start; where addresses of the
    outside belong."""
    __slots__ = ("code", "names", "slots")

    def __init__(self, code, names, slots):
        self.code, self.names, self.slots = code, names, slots


def flatten(obj):
    """The Image of an object file, or None where it holds what an image cannot."""
    if not SUPPORTED or obj[:4] != b"\x7fELF" or struct.unpack_from("<HH", obj, 16) != (1, 62):
        return None
    table, = struct.unpack_from("<Q", obj, 40)
    size, count, names_at = struct.unpack_from("<HHH", obj, 58)
    # section: name, type, flags, address, offset, size, link, info, alignment, entry size
    sections = [struct.unpack_from("<IIQQQQIIQQ", obj, table + i * size) for i in range(count)]

    def text_at(section, offset):
        start = sections[section][4] + offset
        return obj[start:obj.index(b"\0", start)].decode()

    code, base = bytearray(), {}
    for i, (name, kind, flags, _, offset, length, *_, align, _) in enumerate(sections):
        if not flags & 2 or not length or text_at(names_at, name).startswith(".eh_frame"):
            # not loaded (2 is SHF_ALLOC), or for unwinding only
            continue
        # (see `Fn.from_memory`)
        if kind != 1 or flags & 1 and text_at(names_at, name) != ".operands" or align > ALIGN:
            return None                                      # zero-filled or writable data
        code += b"\0" * (-len(code) % max(align, 1))
        base[i] = len(code)
        code += obj[offset:offset + length]

    symbols, names = [], {}
    tables = [s for s in sections if s[1] == 2]
    for s in tables:
        for k in range(s[5] // 24):
            name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", obj, s[4] + 24 * k)
            text = text_at(s[6], name)
            symbols.append((text, base[section] + value if section in base else None, section))
            if info >> 4 == 1 and section in base:
                names[text] = base[section] + value

    code += b"\0" * (-len(code) % 8)
    slots, stubs = {}, {}

    def slot(name):
        if name not in slots:
            slots[name] = len(code)
            code.extend(bytes(8))
        return slots[name]

    def stub(name):
        if name not in stubs:
            target = slot(name)
            stubs[name] = len(code)
            code.extend(_STUB + struct.pack("<i", target - (len(code) + 6)) + b"\0\0")
        return stubs[name]

    for s in sections:
        if s[1] == 9 and s[7] in base:
            return None                                      # REL: not on this machine
        if s[1] != 4 or s[7] not in base:
            continue
        for k in range(s[5] // 24):
            offset, info, add = struct.unpack_from("<QQq", obj, s[4] + 24 * k)
            kind, (name, to,
                   section), at = info & 0xFFFFFFFF, symbols[info >> 32], base[s[7]] + offset
            outside = to is None and section == 0 and name
            if kind in (_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX) and outside:
                to = slot(name)
            elif kind == _PLT32 and outside:
                to = stub(name)
            elif kind not in (_PC32, _PLT32) or to is None:
                return None
            struct.pack_into("<i", code, at, to + add - at)
    return Image(bytes(code), names, slots)


def join(images):
    """The code of several images without slots as one, and where its functions start."""
    code, names = bytearray(), {}
    for image in images:
        code += b"\0" * (-len(code) % ALIGN)
        names.update({name: at + len(code) for name, at in image.names.items()})
        code += image.code
    return bytes(code), names


@functools.lru_cache(None)
def _libc():
    libc = C.CDLL(None, use_errno=True)
    libc.mmap.restype, libc.mmap.argtypes = (C.c_void_p, [
        C.c_void_p, C.c_size_t, C.c_int, C.c_int, C.c_int, C.c_long])
    libc.mprotect.argtypes = [C.c_void_p, C.c_size_t, C.c_int]
    libc.munmap.argtypes = [C.c_void_p, C.c_size_t]
    libc.madvise.argtypes = [C.c_void_p, C.c_size_t, C.c_int]
    return libc


def reserve(size):
    """Zeroed memory that is never given back, at a page's start."""
    at = _libc().mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE,
                      mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if at in (None, C.c_void_p(-1).value):
        raise OSError(C.get_errno(), "mmap")
    return at


def wipe_on_fork(at, size):
    """Have the kernel zero this memory in the child of any fork, also of one that Python does
    not see; False where it cannot."""
    return sys.platform == "linux" and _libc().madvise(at, size, 18) == 0


def executable(at, size):
    """Make reserved memory code: from now on it cannot be written."""
    if _libc().mprotect(at, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(C.get_errno(), "mprotect")


def load(code, slots, resolve):
    """Map code, fill its slots with `resolve(name)`, make it executable; its address. Never
    writable and executable at once.

    The mapping stays for ever: threads may be in it even when the interpreter has gone."""
    at = reserve(max(len(code), 1))
    try:
        C.memmove(at, code, len(code))
        for name, offset in slots:
            C.c_void_p.from_address(at + offset).value = resolve(name)
        executable(at, len(code))
    except BaseException:
        _libc().munmap(at, max(len(code), 1))
        raise
    return at
