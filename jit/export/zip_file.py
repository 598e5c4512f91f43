"""A zip file of members that are stored as they are, each at an address that can be mapped.

Writing goes through `zipfile`. Reading trusts nothing: every member is stored, is inside of the
file and overlaps no other, and its bytes are those that the checksum is of."""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import secrets
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import ArchiveError

ALIGN = 64  # a member's bytes begin at a multiple of this
FILLING = 0xD935  # the number of an extra field that says nothing
MAPPED = 1 << 20  # bytes: a smaller file is read
LOCAL = struct.Struct("<4s5H3L2H")
DAMAGE = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    NotImplementedError,
    RuntimeError,
    EOFError,
    ValueError,
    OverflowError,
    struct.error,
    OSError,
    IndexError,
)


def write(path: Any, members: Mapping[str, Iterable[Any]]) -> None:
    """Write a file of members, each given as pieces of bytes, to a path or a binary file. A path
    has the old or the new contents, whole."""
    if hasattr(path, "write"):
        made = io.BytesIO()
        write_members(made, members)
        path.write(made.getbuffer())
        return
    path = os.path.realpath(os.fspath(path))
    beside = f"{path}.{secrets.token_hex(8)}.tmp"
    try:
        with open(beside, "xb") as out:
            write_members(out, members)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise


def write_members(out: Any, members: Mapping[str, Iterable[Any]]) -> None:
    """Write members to a file that begins with them."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        for name, pieces in members.items():
            add(z, out, name, list(pieces))


def add(z: zipfile.ZipFile, out: Any, name: str, pieces: list[Any]) -> None:
    """Add a member."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.file_size = sum(memoryview(p).nbytes for p in pieces)
    info.external_attr = 0o644 << 16
    info.CRC, info.compress_size = 0, info.file_size  # a header of this length will be written
    is_large = info.file_size >= zipfile.ZIP64_LIMIT
    start = out.tell() + len(info.FileHeader(is_large)) + 4
    info.extra = struct.pack("<HH", FILLING, -start % ALIGN) + bytes(-start % ALIGN)
    with z.open(info, "w", force_zip64=is_large) as member:
        for p in pieces:
            member.write(p)


def name_of(path: Any) -> str:
    """A path, or what a binary file is called."""
    found: str = str(getattr(path, "name", "file")) if hasattr(path, "read") else os.fspath(path)
    return found


class Members:
    """The members of a file by name, as views of its bytes. The file is a path or a binary file.
    `check=False` passes over the checksums."""

    def __init__(self, path: Any, check: bool = True) -> None:
        self.path = name_of(path)
        with io.BytesIO(path.read()) if hasattr(path, "read") else open(path, "rb") as file:
            self.size = file.seek(0, io.SEEK_END)
            file.seek(0)
            self.raw = self.contents(file)
            try:
                with zipfile.ZipFile(file) as z:
                    found = z.infolist()
            except DAMAGE as e:
                raise ArchiveError(
                    self.path, "", f"it is no zip file, or a damaged one: {e}"
                ) from None
        self.parts: dict[str, memoryview] = {}
        spans = []
        for info in found:
            low, high = self.span(info)
            if info.filename in self.parts:
                raise ArchiveError(self.path, info.filename, "it is there twice")
            self.parts[info.filename] = self.raw[low:high]
            spans.append((info.header_offset, high, info.filename))
            if check and zlib.crc32(self.parts[info.filename]) != info.CRC:
                raise ArchiveError(
                    self.path, info.filename, "its bytes are damaged: the checksum is another"
                )
        spans.sort()
        for (_, end, _), (start, _, name) in zip(spans, spans[1:]):
            if start < end:
                raise ArchiveError(self.path, name, "it overlaps with another member")

    def contents(self, file: Any) -> memoryview:
        """The bytes of the file: mapped where there are many on a disk."""
        if self.size < MAPPED or isinstance(file, io.BytesIO):
            return memoryview(file.read())
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def span(self, info: zipfile.ZipInfo) -> tuple[int, int]:
        """The position of a member's bytes."""
        name, at = info.filename, info.header_offset
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise ArchiveError(
                self.path, name, "it is compressed; members of an archive are stored"
            )
        if info.flag_bits & 1 or not 0 <= at <= self.size - LOCAL.size:
            raise ArchiveError(self.path, name, "its place in the file is damaged")
        signature, *_, name_size, extra_size = LOCAL.unpack(self.raw[at : at + LOCAL.size])
        low = at + LOCAL.size + name_size + extra_size
        if signature != b"PK\x03\x04" or low + info.file_size > self.size:
            raise ArchiveError(self.path, name, "it is not inside the file")
        return low, low + info.file_size

    def __getitem__(self, name: str) -> memoryview:
        """A member's bytes."""
        found = self.parts.get(name)
        if found is None:
            raise ArchiveError(self.path, name, "it is missing")
        return found
