"""Bytes of event files: fields of protobuf messages, and the records that frame each message with
checksums. A message is the concatenation of its fields."""
import struct

import numpy as np

CRC32C = 0x82F63B78             # the Castagnoli polynomial, reflected
COLUMNS = 64                    # a long text is cut into so many pieces, read side by side


def varint(n):
    """A whole number in groups of seven bits, lowest first; negative ones as 64-bit words."""
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def whole(field, n):
    """A field with a whole number, an enumerator or a truth value."""
    return varint(field << 3) + varint(int(n))


def double(field, x):
    """A field with a 64-bit float."""
    return varint(field << 3 | 1) + struct.pack("<d", x)


def single(field, x):
    """A field with a 32-bit float. A number too large for one becomes infinite."""
    with np.errstate(over="ignore"):
        return varint(field << 3 | 5) + np.float32(x).astype("<f4").tobytes()


def block(field, content):
    """A field with a message, a text, or bytes."""
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def doubles(field, numbers):
    """A repeated field of 64-bit floats, packed."""
    return block(field, np.asarray(numbers, "<f8").tobytes())


def entries(field, pairs):
    """A field that is a map from texts to messages."""
    return b"".join(block(field, block(1, key) + block(2, value)) for key, value in pairs)


def _table():
    crc = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crc = np.where(crc & 1, crc >> 1 ^ np.uint32(CRC32C), crc >> 1)
    return crc


_TABLE = _table()
_STEPS = _TABLE.tolist()


def _plain_crc(data, crc):
    for byte in data:
        crc = _STEPS[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc


def _after_zeros(n):
    """What `n` zero bytes make of each bit of a running checksum: the map is linear, so this is all
    of it. It is made by squaring, bit by bit of `n`."""
    one = [_plain_crc(b"\0", 1 << bit) for bit in range(32)]
    out = [1 << bit for bit in range(32)]
    while n:
        if n & 1:
            out = [_times_matrix(one, c) for c in out]
        one = [_times_matrix(one, c) for c in one]
        n >>= 1
    return out


def _times_matrix(images, crc):
    out = 0
    while crc:
        low = crc & -crc
        out ^= images[low.bit_length() - 1]
        crc ^= low
    return out


def crc32c(data):
    """The checksum of Castagnoli.

    >>> from whet.utils.tensorboard.wire import crc32c
    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc, length = 0xFFFFFFFF, len(data) // COLUMNS
    if length > COLUMNS:
        pieces = np.frombuffer(data, np.uint8, COLUMNS * length).reshape(COLUMNS, length)
        running = np.zeros(COLUMNS, np.uint32)
        for column in np.ascontiguousarray(pieces.T):
            running = _TABLE[(running ^ column) & 0xFF] ^ running >> 8
        zeros = _after_zeros(length)
        for piece in running.tolist():
            crc = _times_matrix(zeros, crc) ^ piece
        data = data[COLUMNS * length:]
    return _plain_crc(data, crc) ^ 0xFFFFFFFF


def _masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(message):
    """A message as it stands in a file: its length and its bytes, each with a checksum."""
    length = struct.pack("<Q", len(message))
    return length + _masked(length) + message + _masked(message)
