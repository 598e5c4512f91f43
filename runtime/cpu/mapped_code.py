"""Code that is mapped: object code as a flat image, which mmap alone loads, without LLVM.

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
from typing import NamedTuple

_PC32, _PLT32, _GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX = 2, 4, 9, 41, 42
_STUB = b"\xff\x25"                      # jmp *slot(%rip)
ALIGN = 64
SUPPORTED = sys.platform == "linux" and platform.machine() == "x86_64" and C.sizeof(C.c_void_p) == 8


class Image:
    """Position-independent code and constants: where its functions begin, and where addresses from
    outside have to be filled in."""
    __slots__ = ("code", "names", "slots")

    def __init__(self, code, names, slots):
        self.code, self.names, self.slots = code, names, slots


def flatten(obj):
    """The Image of an object file; None if it contains something that an image cannot have."""
    if not SUPPORTED or obj[:4] != b"\x7fELF" or struct.unpack_from("<HH", obj, 16) != (1, 62):
        return None
    table, = struct.unpack_from("<Q", obj, 40)
    size, count, names_at = struct.unpack_from("<HHH", obj, 58)
    sections = [Section(*struct.unpack_from("<IIQQQQIIQQ", obj, table + i * size))
                for i in range(count)]
    layout = _Layout(obj, sections, names_at)
    if not layout.place_sections():
        return None
    names = layout.read_symbols()
    if not layout.relocate():
        return None
    return Image(bytes(layout.code), names, layout.slots)


class Section(NamedTuple):
    """A section header of an ELF object."""
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class _Layout:
    """The image of an object file under construction."""

    def __init__(self, obj, sections, names_at):
        self.obj, self.sections, self.names_at = obj, sections, names_at
        self.code = bytearray()
        self.base = {}                   # section -> where it lies in the image
        self.symbols = []                # (name, where it lies or None, its section)
        self.slots, self.stubs = {}, {}  # names from outside -> where their address or jump lies

    def text_at(self, section, offset):
        start = self.sections[section].offset + offset
        return self.obj[start:self.obj.index(b"\0", start)].decode()

    def place_sections(self):
        """Place the loaded sections one after the other; False if an image cannot have one of
        them."""
        for i, s in enumerate(self.sections):
            # not loaded (2 is SHF_ALLOC), or for unwinding only
            if not s.flags & 2 or not s.size:
                continue
            name = self.text_at(self.names_at, s.name)
            if name.startswith(".eh_frame"):
                continue
            # zero-filled or writable data (but for the operands: see `Fn.from_memory`)
            if s.kind != 1 or s.flags & 1 and name != ".operands" or s.align > ALIGN:
                return False
            self.code += b"\0" * (-len(self.code) % max(s.align, 1))
            self.base[i] = len(self.code)
            self.code += self.obj[s.offset:s.offset + s.size]
        return True

    def read_symbols(self):
        """Where functions start, by name."""
        names = {}
        for s in self.sections:
            if s.kind != 2:
                continue
            for k in range(s.size // 24):
                name, info, _, section, value, _ = struct.unpack_from(
                    "<IBBHQQ", self.obj, s.offset + 24 * k)
                text = self.text_at(s.link, name)
                at = self.base[section] + value if section in self.base else None
                self.symbols.append((text, at, section))
                if info >> 4 == 1 and at is not None:
                    names[text] = at
        self.code += b"\0" * (-len(self.code) % 8)
        return names

    def slot(self, name):
        """The slot for an address from outside."""
        if name not in self.slots:
            self.slots[name] = len(self.code)
            self.code.extend(bytes(8))
        return self.slots[name]

    def stub(self, name):
        """A jump to something outside."""
        if name not in self.stubs:
            target = self.slot(name)
            self.stubs[name] = len(self.code)
            self.code.extend(_STUB + struct.pack("<i", target - (len(self.code) + 6)) + b"\0\0")
        return self.stubs[name]

    def relocate(self):
        """Resolve all relocations; False if an image cannot express one of them."""
        code, symbols = self.code, self.symbols
        for s in self.sections:
            if s.kind == 9 and s.info in self.base:
                return False                                 # REL: not on this machine
            if s.kind != 4 or s.info not in self.base:
                continue
            base = self.base[s.info]
            for offset, info, add in struct.iter_unpack(
                    "<QQq", self.obj[s.offset:s.offset + s.size // 24 * 24]):
                kind, (name, to, section) = info & 0xFFFFFFFF, symbols[info >> 32]
                if to is None or kind not in (_PC32, _PLT32):
                    to = self.outside(kind, name) if to is None and section == 0 and name else None
                    if to is None:
                        return False
                at = base + offset
                struct.pack_into("<i", code, at, to + add - at)
        return True

    def outside(self, kind, name):
        """The target of a relocation that names something outside; None if there can be none."""
        if kind in (_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX):
            return self.slot(name)
        return self.stub(name) if kind == _PLT32 else None


def join(images):
    """Join the code of several images without slots into one; also return where its functions
    begin."""
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
    """Make the kernel zero this memory in the child of any fork, including forks that Python does
    not see. False if it cannot."""
    return sys.platform == "linux" and _libc().madvise(at, size, 18) == 0


def executable(at, size):
    """Make reserved memory code: from now on it cannot be written."""
    if _libc().mprotect(at, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(C.get_errno(), "mprotect")


def load(code, slots, resolve):
    """Map code, fill its slots with `resolve(name)`, and make it executable; returns its address.
    The memory is never writable and executable at once.

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
