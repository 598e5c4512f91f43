"""Files that PyTorch's `save` wrote, read without it: `whet.load` comes here.

A file is a pickle whose tensors are calls of a few PyTorch functions, and the memory under
them. In a zip archive the memory lies in members of its own; in files of before 2020 it follows
the pickle. Only names in the table below, and those that `whet.serialization.add_safe_globals`
adds, are looked up, unless `weights_only=False`.
"""
import collections
import importlib
import io
import mmap
import os
import pickle
import zipfile

import numpy as np

from . import dtypes, layouts
from .devices import device
from .nn.module import Module
from .nn.parameter import Parameter
from .safe_globals import by_name, latin_bytes
from .strided_memory import strided
from .tensor import Size, Tensor, shown, wrap

LEGACY_MAGIC = 0x1950a86a20f9469cfc6c
LEGACY_PROTOCOL = 1001
LOCAL_HEADER = 30
DAMAGE = (KeyError, TypeError, ValueError, IndexError, AttributeError, EOFError, OverflowError,
          ImportError, zipfile.BadZipFile, NotImplementedError)
STORAGES = {
    "BFloat16": "bfloat16", "Bool": "bool", "Byte": "uint8", "Char": "int8", "Short": "int16",
    "Int": "int32", "Long": "int64", "Half": "float16", "Float": "float32", "Double": "float64",
    "ComplexFloat": "complex64", "ComplexDouble": "complex128", "Untyped": "uint8",
    "QUInt8": "uint8", "QInt8": "int8", "QInt32": "int32"}
# what PyTorch leaves to who reads a tensor, and what that does
FLIPS = {"conj": np.conj, "neg": np.negative}
LAYOUTS = {
    f"torch.{name}": getattr(layouts, name) for name in (
        "strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")}


class Storage:
    """The type that a file says some memory has."""

    def __init__(self, name):
        self.dtype = dtypes.NAMED[name]


class Memory:
    """What lies under some tensors of a file: bytes, and the type of their elements."""

    def __init__(self, raw, dtype, where):
        self.raw, self.dtype, self.where = raw, dtype, where

    def view(self, offset, size, stride, dtype=None):
        """An array in this memory."""
        dtype = self.dtype if dtype is None else dtype
        size, stride = tuple(size), tuple(stride)
        flat = self.raw[:self.raw.size // dtype.itemsize * dtype.itemsize].view(dtype.np)
        if min((offset, *size, *stride), default=0) < 0 or len(size) != len(stride):
            raise ValueError(f"no tensor of sizes {size} and strides {stride} at {offset}")
        end = offset + sum((n - 1) * s for n, s in zip(size, stride)) + 1
        if 0 not in size and end > flat.size:
            raise ValueError(f"a tensor ends at element {end} of {flat.size}")
        if 0 in size:
            return np.empty(size, dtype.np)
        return strided(flat[offset:], size, stride)


# ---- the functions that a pickle calls -----------------------------------------------------------
class Calls:
    """What stands for PyTorch's own functions while one file is read."""

    def __init__(self, place, filled=True):
        # is the memory filled yet, or is that done after the pickle is read?
        self.place, self.filled = place, filled
        self.flipped: list = []         # (array, the array that it is of, what makes it of that)

    def table(self):
        """What a pickle may name, by module and name."""
        from .nn.parameter import Buffer
        found = {
            ("torch._utils", "_rebuild_tensor"): self.tensor,
            ("torch._utils", "_rebuild_tensor_v2"): self.tensor,
            ("torch._utils", "_rebuild_tensor_v3"): self.tensor_of,
            ("torch._utils", "_rebuild_parameter"): self.parameter,
            ("torch._utils", "_rebuild_parameter_with_state"): self.parameter,
            ("torch._tensor", "_rebuild_from_type_v2"): self.of_type,
            ("torch._utils", "_rebuild_sparse_tensor"): self.sparse,
            ("torch._utils", "_rebuild_qtensor"): self.quantised,
            ("torch._utils", "_rebuild_meta_tensor_no_storage"): self.without_memory,
            ("torch", "per_tensor_affine"): layouts.per_tensor_affine,
            ("torch", "per_channel_affine"): layouts.per_channel_affine,
            ("torch.serialization", "_get_layout"): LAYOUTS.__getitem__,
            ("torch", "Size"): Size, ("torch", "device"): device,
            ("torch", "Tensor"): Tensor,
            ("torch.nn.parameter", "Parameter"): Parameter,
            ("torch.nn.parameter", "Buffer"): Buffer,
            ("torch.storage", "UntypedStorage"): Storage("uint8"),
            ("torch.storage", "TypedStorage"): Storage("uint8"),
            ("collections", "OrderedDict"): collections.OrderedDict,
            ("collections", "Counter"): collections.Counter,
            ("_codecs", "encode"): latin_bytes, ("builtins", "bytearray"): bytearray,
            ("builtins", "set"): set, ("builtins", "complex"): complex}
        for module in ("torch", "torch.cuda"):
            found |= {(module, f"{k}Storage"): Storage(v) for k, v in STORAGES.items()}
        found |= {("torch", name): d for name, d in dtypes.NAMED.items()}
        # Python 2's name of the same module
        found |= {("__builtin__", n): f for (m, n), f in found.items() if m == "builtins"}
        return found

    def tensor(self, memory, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
        return self.put(memory, memory.view(offset, size, stride), requires_grad, metadata)

    def tensor_of(self, memory, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
        return self.put(memory, memory.view(offset, size, stride, dtype), requires_grad, metadata)

    def put(self, memory, array, requires_grad, metadata):
        for bit, flip in FLIPS.items():
            if metadata and metadata.get(bit):
                flipped = flip(array)
                self.flipped.append((flipped, array, flip))
                array = flipped
        t = self.place(shown(wrap(array)), memory.where)
        return t.requires_grad_() if requires_grad else t

    def fill(self):
        """Compute what is made of memory, now that this is filled."""
        for flipped, array, flip in self.flipped:
            flipped[...] = flip(array)

    def sparse(self, layout, data):
        if not self.filled:
            raise pickle.UnpicklingError(
                "load: a sparse tensor in a file of the form of before PyTorch 1.6: save it again "
                "without _use_new_zipfile_serialization=False")
        from .sparse import make
        if layout is layouts.sparse_coo:
            indices, values, size, *rest = data
            return make.sparse_coo_tensor(indices, values, size, check_invariants=True,
                                          is_coalesced=rest[0] if rest else None)
        return make.sparse_compressed_tensor(*data, layout=layout, check_invariants=True)

    def quantised(self, memory, offset, size, stride, facts, requires_grad=False, hooks=None):
        from .quantised import make
        scheme, scale, zero, *axis = facts
        per_channel = scheme is layouts.per_channel_affine
        if per_channel != bool(axis):
            raise ValueError(f"a quantised tensor with {facts}")
        held = self.put(memory, memory.view(offset, size, stride), False, None)
        return make.restored({"_held": held, "_scale": scale, "_zero": zero,
                              "_axis": axis[0] if per_channel else None})

    def without_memory(self, dtype, size, stride, requires_grad):
        from .ops.creation import empty_strided
        return empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)

    def parameter(self, data, requires_grad, hooks, state=None):
        p = Parameter(data, requires_grad)
        if state:
            vars(p).update(state)
        return p

    def of_type(self, function, kind, args, state):
        made = function(*args)
        if isinstance(kind, type) and issubclass(kind, Parameter):
            made = kind(made, made.requires_grad)
        if isinstance(state, dict):
            vars(made).update(state)
        return made


def _unpickler(calls, options, memory_of):
    """A class of unpicklers that find a file's names and memory."""
    table = calls.table()
    parent: type = options.pickle.Unpickler

    class Unpickler(parent):  # type: ignore[misc, valid-type]
        def find_class(self, module, name):
            if (module, name) in table:
                return table[module, name]
            if options.weights_only:
                if (found := by_name().get((module, name))) is not None:
                    return found
                raise pickle.UnpicklingError(
                    f"Weights only load failed: {options.name} names {module}.{name}, and calling "
                    "it can run any code. If you trust where the file came from, load it with "
                    "weights_only=False, or allow the name with "
                    "whet.serialization.add_safe_globals.")
            if module.partition(".")[0] == "torch":
                try:
                    found = getattr(importlib.import_module("whet" + module[5:]), name)
                except (ImportError, AttributeError):
                    raise pickle.UnpicklingError(
                        f"load: {options.name} names {module}.{name}, for which there is nothing "
                        "here: save what it is made of, as tensors and Python's containers."
                    ) from None
                if isinstance(found, type) and issubclass(found, Module):
                    raise pickle.UnpicklingError(
                        f"load: {options.name} has a whole module ({module}.{name}), whose inner "
                        "attributes are PyTorch's: make the module here, and load a file of its "
                        "state_dict() into it.")
                return found
            return super().find_class(module, name)

        def persistent_load(self, said):
            if isinstance(said, tuple) and len(said) == 2 and said[0] == "module":
                return said[1]
            kind, storage, key, where, count = said[:5]
            if kind != "storage" or not isinstance(storage, Storage) or count < 0:
                raise ValueError(f"no memory {said!r}")
            return memory_of(key, storage.dtype, where, count)
    return Unpickler


# ---- the two forms, and bare pickles -------------------------------------------------------------
def read(options, head):
    """The object in a file, of which `head` was read; `options` is its reader."""
    file = options.file
    try:
        file.seek(-len(head), os.SEEK_CUR)
    except (OSError, AttributeError, ValueError):       # a stream
        file = options.file = io.BytesIO(head + file.read())
    if head[:2] == b"PK":
        return read_archive(file, options)
    start = file.tell()
    if magic_number(file):
        return read_legacy(file, options)
    file.seek(start)
    if options.weights_only:
        raise pickle.UnpicklingError(
            f"Weights only load failed: {options.name} is a pickle, and loading it can run any "
            "code. If you trust where the file came from, load it with weights_only=False.")
    return options.pickle.load(file, **options.pickle_args)


def read_archive(file, options):
    """The object in a zip archive of PyTorch's."""
    try:
        with zipfile.ZipFile(file) as z:
            return _Archive(z, file, options).load()
    except DAMAGE as e:
        raise RuntimeError(
            f"load: {options.name}: it is no zip archive of PyTorch's, or is damaged: {e}") from e


class _Archive:
    """A zip archive: the pickle, and a member for each memory."""

    def __init__(self, z, file, options):
        self.zip, self.file, self.options, self.memory = z, file, options, {}
        names = z.namelist()
        pickles = [n for n in names if n.endswith("/data.pkl")]
        if len(pickles) != 1:
            scripted = any(n.endswith("constants.pkl") for n in names)
            raise ValueError("a TorchScript archive" if scripted else "there is no data.pkl")
        self.folder = pickles[0][:-len("data.pkl")]
        order = self.folder + "byteorder"
        self.big = order in names and z.read(order) == b"big"
        self.held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if options.mapped else None

    def load(self):
        unpickler = _unpickler(Calls(self.options.place), self.options, self.memory_of)
        text = self.zip.read(self.folder + "data.pkl")
        return unpickler(io.BytesIO(text), **self.options.pickle_args).load()

    def memory_of(self, key, dtype, where, count):
        if key not in self.memory:
            info = self.zip.getinfo(f"{self.folder}data/{key}")
            self.memory[key] = Memory(self.bytes(info, dtype), dtype, where)
        return self.memory[key]

    def bytes(self, info, dtype):
        """A member's bytes, in memory that may be written to."""
        if self.held is not None and info.compress_type == zipfile.ZIP_STORED and not self.big:
            head = self.held[info.header_offset:info.header_offset + LOCAL_HEADER]
            begin = (info.header_offset + LOCAL_HEADER + int.from_bytes(head[26:28], "little")
                     + int.from_bytes(head[28:30], "little"))
            if begin % dtype.itemsize == 0:
                return np.frombuffer(self.held, np.uint8, info.file_size, begin)
        raw = np.frombuffer(self.zip.read(info), np.uint8).copy()
        return raw.view(dtype.np).byteswap().view(np.uint8) if self.big else raw


def read_legacy(file, options):
    """The object in a file of before PyTorch 1.6, whose magic number was read."""
    memory: dict[str, Memory] = {}

    def memory_of(key, dtype, where, count):
        if key not in memory:
            room = options.room(count * dtype.itemsize, f"the memory {key}")
            memory[key] = Memory(np.zeros(room, np.uint8), dtype, where)
        return memory[key]
    try:
        for expected in (LEGACY_PROTOCOL, None):            # then what machine it was written on
            found = _Numbers(file).load()
            if expected is not None and found != expected:
                raise ValueError(f"a protocol {found}")
        calls = Calls(options.place, filled=False)
        unpickler = _unpickler(calls, options, memory_of)
        made = unpickler(file, **options.pickle_args).load()
        for key in _Numbers(file).load():
            count = int.from_bytes(file.read(8), "little")
            raw = memory[key].raw
            if count * memory[key].dtype.itemsize != raw.size:
                raise ValueError(f"the memory {key} has {count} elements")
            options.fill(raw, f"the memory {key}")
        calls.fill()
        return made
    except DAMAGE as e:
        raise RuntimeError(f"load: {options.name}: the file is damaged: {e}") from e


class _Numbers(pickle.Unpickler):
    """A pickle of numbers, strings and their containers."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} where there should be numbers")


def magic_number(file):
    """Does a file begin with the number that PyTorch's old files begin with? It is read past."""
    try:
        return _Numbers(file).load() == LEGACY_MAGIC
    except (pickle.UnpicklingError, *DAMAGE):
        return False
