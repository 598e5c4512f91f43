"""Saving and loading: safetensors files whose metadata says how the tensors were nested. Loading
runs no code. Files that PyTorch's `save` wrote are read, too (`pytorch_files.py`).

A file is a safetensors file (8 bytes of header length, a JSON header, the tensors' bytes) that any
reader of that format can read. Its metadata has one entry more, `whet`: the structure that was
saved, in JSON, with a reference wherever a tensor was, and a checksum of everything. Memory that
several tensors share is stored once. Objects that are neither tensors nor plain data are pickled;
such a file loads with `weights_only=False` only.
"""
import base64
import importlib
import io
import json
import math
import mmap as mapping
import os
import pickle
import secrets
import stat
import zlib
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from . import dtypes
from .autograd.modes import beyond
from .composite import Composite
from .devices import as_device, device
from .ir.memory_spans import address
from .layouts import strided
from .memory_sharing import extent, layout_of, memory_of, order_of, sharing, view_of
from .nn.parameter import Buffer, Parameter
from .ops.creation import empty_strided
from .safe_globals import (
    add_safe_globals,
    allowed,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from .safetensors import TYPES, check_header, spelled
from .tensor import Size, Tensor, shown, wrap

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals",
           "save"]

DEFAULT_PROTOCOL = 2
MAP_LOCATION: Any = (
    Callable[[Tensor, str], Tensor] | device | str | dict[str, str] | None)

MAX_HEADER = 100_000_000
MAX_DEPTH = 100
_DAMAGE = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError,
           StopIteration, RecursionError)
_CLASSES: dict[str, type] = {"Parameter": Parameter, "Buffer": Buffer}


def save(obj, f, pickle_module=pickle, pickle_protocol=2, _use_new_zipfile_serialization=True):
    """Write tensors, and lists, tuples, dicts, numbers and strings of them, to a path or a binary
    file.

    A path is written to beside and then renamed, so that it holds the old or the new contents,
    whole.
    """
    beyond("it saves something")
    _refuse_numbers(f, "write")
    parts = _Writer(pickle_module, max(2, pickle_protocol)).parts(obj)
    if hasattr(f, "write"):
        for part in parts:
            f.write(part)
        return
    path = os.path.realpath(os.fspath(f))
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):        # a device or a pipe
        with open(path, "wb") as out:
            out.writelines(parts)
        return
    beside = f"{os.fsdecode(path)}.{secrets.token_hex(8)}.tmp"
    try:
        with open(beside, "xb") as out:
            for part in parts:
                out.write(part)
            out.flush()
            os.fsync(out.fileno())
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise


def load(f, map_location=None, pickle_module=pickle, *, weights_only=True, mmap=None,
         **pickle_load_args):
    """Read what `save` wrote, a plain safetensors file (as a dict) or a PyTorch file, from a
    path or a binary file.

    `mmap=True` maps the file's bytes instead of reading them (they are then not checked).
    `weights_only=False` also loads pickled objects, which can run any code: only from those you
    trust.

    An archive that `whet.export(...).save(path)` wrote is recognised by its content: the
    exported function is returned.
    """
    beyond("it loads something")
    _refuse_numbers(f, "read")
    if not hasattr(f, "read") and _is_archive(f):
        from . import jit
        return jit.load_archive(f)
    if hasattr(f, "read"):
        if mmap:
            raise ValueError("load: f must be a path in order to use the mmap argument")
        return _Reader(f, "file", map_location, pickle_module, weights_only,
                       pickle_load_args).load()
    with open(f, "rb") as file:
        return _Reader(file, os.fspath(f), map_location, pickle_module, weights_only,
                       pickle_load_args, bool(mmap)).load()


def _refuse_numbers(f, method):
    """Raise for a number, which `open` would take for a file that is open already, and close."""
    if isinstance(f, int):
        raise AttributeError(f"expected 'f' to be string, path, or a file-like object with a "
                             f"'{method}' attribute, but got {type(f).__name__}")


def _is_archive(path):
    """Is a file an archive of an exported function?"""
    with open(path, "rb") as file:
        head = file.read(39)
        if head[:4] != b"PK\x03\x04":
            return False
        if head[30:] == b"whet.json":
            return True
        import zipfile  # seldom needed, and it takes a tenth of the time of `import whet`
        try:
            with zipfile.ZipFile(file) as z:
                return "whet.json" in z.namelist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
            return False


# ---- writing -------------------------------------------------------------------------------------
class _Writer:
    """Turns an object into the parts of a file."""

    def __init__(self, pickle_module, protocol):
        self.pickle, self.protocol = pickle_module, protocol
        self.tensors, self.number, self.paths = [], {}, []   # every tensor once, in the order met
        self.extra = []                                       # (path, bytes as an array)
        self.attributes = {}                # by a tensor's number, what users keep at it
        self.inside = set()

    def parts(self, obj):
        """The bytes of the file, piece by piece."""
        tree = self.node(obj, "")
        entries, refs, pickles = self.entries()
        order = sorted(range(len(entries)), key=lambda i: (-entries[i][1].itemsize, entries[i][0]))
        at, header, sums = 0, {}, {}
        for i in order:
            name, array = entries[i]
            letters, shape = spelled(array)
            header[name] = {
                "dtype": letters, "shape": shape, "data_offsets": [at, at + array.nbytes]}
            sums[name] = zlib.crc32(_bytes(array))
            at += array.nbytes
        inner = json.dumps(
            {"version": 1, "tree": tree, "tensors": refs, "pickles": pickles, "crc32": sums},
            separators=(",", ":"),
            allow_nan=False)
        check = str(zlib.crc32((inner + _canonical(header)).encode()))
        text = json.dumps(
            {"__metadata__": {"format": "pt", "whet": inner, "whet.crc32": check}, **header},
            separators=(",", ":"))
        raw = text.encode()
        # the tensors' bytes begin at a multiple of 64
        raw += b" " * (-(len(raw) + 8) % 64)
        yield len(raw).to_bytes(8, "little") + raw
        for i in order:
            yield _bytes(entries[i][1])

    def node(self, x, path):
        """JSON for an object; tensors are put aside."""
        if x is None or type(x) in (bool, int, str):
            return x
        if type(x) is float:
            return x if math.isfinite(x) else {"float": repr(x)}
        if isinstance(x, Composite):
            quantised = getattr(type(x), "is_quantized", False)
            if x.layout is strided and not quantised:
                raise TypeError(f"save: {path or 'the object'} is a masked tensor: save get_data() "
                                "and get_mask()")
            kind = "quantised" if quantised else "nested" if x.is_nested else "sparse"
            return {kind: str(x.layout).partition(".")[2],
                    "fields": [[name, self.node(y, f"{path}.{name}" if path else name)]
                               for name, y in vars(x).items() if name != "layout"]}
        if isinstance(x, Tensor):
            return {"tensor": self.tensor(x, path)}
        if id(x) in self.inside:
            raise ValueError(f"save: {path or 'the object'} contains itself")
        if len(self.inside) > MAX_DEPTH:
            raise ValueError(f"save: nested more than {MAX_DEPTH} deep at {path}")
        self.inside.add(id(x))
        try:
            return self.container(x, path)
        finally:
            self.inside.discard(id(x))

    def container(self, x, path):
        def below(items):
            return [self.node(v, f"{path}.{i}" if path else str(i)) for i, v in enumerate(items)]
        kind = type(x)
        if kind is list:
            return below(x)
        if kind in (tuple, Size, set, frozenset):
            return {kind.__name__.lower(): below(x)}
        if kind is dict or kind is OrderedDict or kind.__name__ == "StateDict":
            pairs = [[self.node(k, path), self.node(v, f"{path}.{k}" if path else str(k))]
                     for k, v in x.items()]
            out = {"dict" if kind is dict else "ordered": pairs}
            if hasattr(x, "_metadata"):
                out["metadata"] = self.node(x._metadata, f"{path}._metadata")
            return out
        if kind is defaultdict and x.default_factory in (None, dict, list, int, float, set):
            factory = x.default_factory and x.default_factory.__name__
            return {
                "defaultdict": [[self.node(k, path), self.node(v, f"{path}.{k}")]
                                for k, v in x.items()],
                "factory": factory}
        if kind is complex:
            return {"complex": [self.node(x.real, path), self.node(x.imag, path)]}
        if kind is bytes:
            return {"bytes": base64.b64encode(x).decode()}
        if kind is dtypes.dtype:
            return {"dtype": x.name}
        if kind is device:
            return {"device": str(x)}
        if kind is np.ndarray and x.dtype in dtypes.FROM_NUMPY:
            return {"ndarray": self.tensor(wrap(x), path)}
        if isinstance(x, np.generic) and x.dtype in dtypes.FROM_NUMPY:
            return {"scalar": self.tensor(wrap(np.array(x)), path)}
        return self.pickled(x, path)

    def pickled(self, x, path):
        """An object of another kind, with its tensors among the others."""
        writer, found = self, []

        class Pickler(self.pickle.Pickler):
            def persistent_id(self, obj):
                if isinstance(obj, Tensor) and type(obj) in (Tensor, Parameter, Buffer):
                    found.append(
                        writer.tensor(obj, f"{path}.{len(found)}" if path else str(len(found))))
                    return found[-1]
                return None
        out = io.BytesIO()
        Pickler(out, self.protocol).dump(x)
        self.extra.append(
            (f"{path}.pickle" if path else "pickle", np.frombuffer(out.getvalue(), np.uint8)))
        return {
            "pickle": len(self.extra) - 1, "class": f"{type(x).__module__}.{type(x).__qualname__}"}

    def tensor(self, t, path):
        if id(t) not in self.number:
            self.number[id(t)] = len(self.tensors)
            self.tensors.append(t)
            self.paths.append(path or "tensor")
            kept = {k: v for k, v in vars(t).items() if k != "persistent"}
            if kept:
                self.attributes[self.number[id(t)]] = self.node(kept, f"{path}.attributes")
        return self.number[id(t)]

    def entries(self):
        """What is stored, as (name, array) pairs, and for each tensor how it lies in it."""
        names, entries, refs = {"__metadata__"}, [], [None] * len(self.tensors)

        def add(path, array):
            name, k = path, 1
            while name in names:
                k += 1
                name = f"{path}#{k}"
            names.add(name)
            entries.append((name, array))
            return name
        arrays = [np.empty(0, t.dtype.np) if t.is_meta else t.detach().cpu()._array
                  for t in self.tensors]
        for group in sharing(arrays):
            first = arrays[group[0]]
            same = all(layout_of(arrays[i]) == layout_of(first) for i in group)
            low, high = extent(first)
            if same and first.nbytes <= high - low:
                order = order_of(first)
                name = add(self.paths[group[0]],
                           first if first.flags.c_contiguous else first.copy())
                for i in group:
                    refs[i] = {"entry": name, **({"order": order} if order else {})}
                continue
            low = min(extent(arrays[i])[0] for i in group)
            high = max(extent(arrays[i])[1] for i in group)
            name = add(self.paths[group[0]] + ".storage", memory_of(arrays, group, low, high))
            for i in group:
                a = arrays[i]
                refs[i] = {"entry": name,
                           "view": [dtypes.FROM_NUMPY[a.dtype].name, list(a.shape), list(a.strides),
                                                   address(a) - low]}
        for i, t in enumerate(self.tensors):
            if not t.is_cpu and not t.is_meta:
                refs[i]["device"] = str(t.device)
            if t.is_meta:
                refs[i]["meta"] = [t.dtype.name, list(t.shape), list(t.stride())]
            if arrays[i].dtype == np.complex128:
                refs[i]["complex"] = True
            if t.requires_grad:
                refs[i]["requires_grad"] = True
            if isinstance(t, Parameter | Buffer):
                refs[i]["class"] = "Parameter" if isinstance(t, Parameter) else "Buffer"
                if not getattr(t, "persistent", True):
                    refs[i]["persistent"] = False
            if i in self.attributes:
                refs[i]["attributes"] = self.attributes[i]
        pickles = [add(path, array) for path, array in self.extra]
        return entries, refs, pickles


def _bytes(array):
    """The elements' bytes in row-major order, as a buffer."""
    return memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def _canonical(header):
    return json.dumps(
        {k: [v["dtype"], v["shape"], v["data_offsets"]] for k, v in sorted(header.items())},
        separators=(",", ":"))


# ---- reading -------------------------------------------------------------------------------------
class _Reader:
    """Reads one file; everything in it is checked before it is believed."""

    def __init__(self, file, name, map_location, pickle_module, weights_only, pickle_args,
                 mapped=False):
        self.file, self.name, self.map_location = file, name, map_location
        self.pickle, self.weights_only, self.pickle_args = pickle_module, weights_only, pickle_args
        self.mapped = mapped
        self.entries, self.tensors, self.made = {}, [], {}

    def fail(self, why):
        raise RuntimeError(f"load: {self.name}: {why}")

    def load(self):
        head = self.file.read(8)
        if not head:
            raise EOFError(f"load: {self.name}: it is empty")
        if len(head) < 8:
            self.fail(f"it has only {len(head)} bytes, which is no file that whet reads")
        size = int.from_bytes(head, "little")
        if head[:4] == b"PK\x03\x04" or size > MAX_HEADER and head[0] == 0x80 and 2 <= head[1] <= 5:
            from .pytorch_files import read  # seldom needed
            return read(self, head)
        if size > MAX_HEADER:
            self.fail(
                "it is neither what whet or PyTorch saves nor a safetensors file, or it is "
                "damaged; an ONNX model is read by whet.onnx.load")
        raw = self.file.read(self.room(size, "its header"))
        if len(raw) != size:
            self.fail("the file ends within its header")
        try:
            header = json.loads(raw.decode(), object_pairs_hook=_no_twins)
            if not isinstance(header, dict):
                raise ValueError("it is not an object")
        except (ValueError, RecursionError) as e:
            raise RuntimeError(f"load: {self.name}: the header is damaged: {e}") from None
        metadata = header.pop("__metadata__", {})
        if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
            self.fail("the metadata is not a map of strings")
        total = self.check(header)
        structure = self.structure(metadata, header)
        self.read(header, total, structure.get("crc32", {}) if structure else {})
        if structure is None:
            return {k: self.place(shown(wrap(a))) for k, a in self.entries.items()}
        try:
            self.refs, self.pickles = structure["tensors"], structure["pickles"]
            return self.value(structure["tree"])
        except _DAMAGE as e:
            raise RuntimeError(f"load: {self.name}: the structure is damaged: {e!r}") from None

    def check(self, header):
        """The number of data bytes, if the header makes sense."""
        try:
            return check_header(header)
        except ValueError as e:
            self.fail(str(e))

    def structure(self, metadata, header):
        """How the tensors were nested; None for a plain safetensors file."""
        if "whet" not in metadata and "whet.crc32" not in metadata:
            return None
        text = metadata.get("whet", "")
        if (metadata.get("whet.crc32")
                != str(zlib.crc32((text + _canonical(header)).encode("utf-8", "surrogatepass")))):
            self.fail("the header is damaged: its checksum differs")
        try:
            structure = json.loads(text)
            if structure["version"] != 1:
                self.fail(f"it was written by a newer version (format {structure['version']})")
            return structure
        except (ValueError, TypeError, KeyError, RecursionError) as e:
            raise RuntimeError(f"load: {self.name}: the structure is damaged: {e}") from None

    def read(self, header, total, sums):
        """Read or map the arrays."""
        start = self.file.tell() if self.mapped else 0
        if self.mapped and total:
            if os.fstat(self.file.fileno()).st_size != start + total:
                self.fail(
                    f"the file should be {start + total} bytes long, but has "
                    f"{os.fstat(self.file.fileno()).st_size}")
            held = np.frombuffer(mapping.mmap(self.file.fileno(), 0, access=mapping.ACCESS_COPY),
                                 np.uint8)
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            dtype, shape, (low, high) = TYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
            if self.mapped and total:
                raw = held[start + low:start + high]
                if raw.size and address(raw) % dtype.alignment:
                    raw = raw.copy()
            else:
                raw = np.empty(self.room(high - low, f"the bytes of {name!r}"), np.uint8)
                self.fill(raw, name)
                if name in sums and zlib.crc32(raw) != sums[name]:
                    self.fail(f"the bytes of {name!r} are damaged: their checksum differs")
            self.entries[name] = raw.view(np.uint8 if dtype == np.bool_ else dtype).reshape(shape)
            if dtype == np.bool_:
                if not self.mapped and raw.size and raw.max() > 1:
                    self.fail(f"the bytes of {name!r} are damaged: a bool is neither 0 nor 1")
                self.entries[name] = self.entries[name].view(np.bool_)
        if not self.mapped and self.file.read(1):
            self.fail("there is more in the file than its header says")

    def room(self, n, what):
        """n, if the file can have that many bytes left."""
        try:
            here = self.file.tell()
            left = self.file.seek(0, os.SEEK_END) - here
            self.file.seek(here)
        except (OSError, AttributeError, ValueError):
            return n
        if n > left:
            self.fail(f"the file ends within {what}")
        return n

    def fill(self, raw, name):
        view, at = memoryview(raw), 0
        while at < len(view):
            if hasattr(self.file, "readinto"):
                n = self.file.readinto(view[at:])
            else:
                piece = self.file.read(len(view) - at)
                n = len(piece)
                view[at:at + n] = piece
            if not n:
                self.fail(f"the file ends within the bytes of {name!r}")
            at += n

    # ---- the structure ---------------------------------------------------------------------------
    def value(self, node):
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.value(v) for v in node]
        kind = next(iter(node))
        if kind not in _KINDS:
            raise ValueError(f"unknown kind {kind!r}")
        return _KINDS[kind](self, node[kind], node)

    def tensor(self, i):
        """Tensor number i; the same object each time."""
        if type(i) is not int or not 0 <= i < len(self.refs):
            raise ValueError(f"no tensor {i!r}")
        if i not in self.made:
            ref = self.refs[i]
            a = self.entries[ref["entry"]]
            if "view" in ref:
                a = view_of(a, *ref["view"])
            elif ref.get("complex"):
                a = a.view(np.complex128).reshape(a.shape[:-1])
            if "order" in ref:
                order = ref["order"]
                if sorted(order) != list(range(a.ndim)):
                    raise ValueError(f"bad order {order}")
                out = np.empty([a.shape[d] for d in order], a.dtype).transpose(np.argsort(order))
                out[...] = a
                a = out
            if "meta" in ref:
                name, shape, stride = ref["meta"]
                t = empty_strided(shape, stride, dtype=dtypes.NAMED[name], device="meta")
                t = self.place(t)
            else:
                # several may share the memory
                t = self.place(shown(wrap(a)), ref.get("device", "cpu"))
            if "class" in ref:
                cls = _CLASSES[ref["class"]]
                t = (cls(t, ref.get("requires_grad", False)) if cls is Parameter else cls(
                    t, persistent=ref.get("persistent", True)))
            elif ref.get("requires_grad"):
                t.requires_grad_()
            self.made[i] = t
            vars(t).update(self.value(ref.get("attributes", {"dict": []})))
        return self.made[i]

    def place(self, t, came_from="cpu"):
        """The tensor where `map_location` wants it, or where the file says that it was."""
        where = self.map_location
        if callable(where):
            moved = where(t, came_from)
            return t if moved is None else moved
        if isinstance(where, dict):
            where = where.get(came_from)
        if where is not None or t.is_meta or came_from == "cpu":
            return t if where in (None, "cpu") or t.is_meta else t.to(device=where)
        try:
            return t.to(device=came_from)
        except RuntimeError as error:
            error.add_note(f"load: a tensor in {self.name} was on {came_from!r}; "
                           "map_location='cpu' loads it to the CPU.")
            raise

    def unpickle(self, node):
        reader = self

        class Unpickler(self.pickle.Unpickler):
            def persistent_load(self, i):
                return reader.tensor(i)

            def find_class(self, module, name):
                return (allowed(module, name, reader.name) if reader.weights_only
                        else super().find_class(module, name))
        raw = self.entries[self.pickles[node["pickle"]]].tobytes()
        return Unpickler(io.BytesIO(raw), **self.pickle_args).load()


def _no_twins(pairs):
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a name occurs twice")
    return out


# ---- kinds of values: what makes one, of what lies under the kind, and of the whole node ---------
def _items(kind):
    return lambda file, inner, node: kind(file.value(v) for v in inner)


def _filled(made, file, inner):
    for k, v in inner:
        made[file.value(k)] = file.value(v)
    return made


def _ordered(file, inner, node):
    if "metadata" not in node:
        return _filled(OrderedDict(), file, inner)
    from .nn.state import StateDict
    made = StateDict()
    made._metadata = file.value(node["metadata"])
    return _filled(made, file, inner)


def _defaultdict(file, inner, node):
    made = defaultdict()
    if node["factory"]:
        made.default_factory = {
            "dict": dict, "list": list, "int": int, "float": float, "set": set}[node["factory"]]
    return _filled(made, file, inner)


def _restored(package):
    """A tensor that is made of others, which its package puts together."""
    def read(file, inner, node):
        make = importlib.import_module(f".{package}.make", __package__)
        fields = {k: file.value(v) for k, v in node["fields"]}
        return make.restored(inner, fields) if package == "sparse" else make.restored(fields)
    return read


_KINDS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "tensor": lambda file, inner, node: file.tensor(inner),
    **{kind.__name__: _items(kind) for kind in (tuple, set, frozenset)},
    "size": _items(Size),
    "dict": lambda file, inner, node: _filled({}, file, inner),
    "ordered": _ordered,
    "defaultdict": _defaultdict,
    **{package: _restored(package) for package in ("sparse", "nested", "quantised")},
    "float": lambda file, inner, node: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[inner],
    "complex": lambda file, inner, node: complex(*(file.value(v) for v in inner)),
    "bytes": lambda file, inner, node: base64.b64decode(inner, validate=True),
    "dtype": lambda file, inner, node: dtypes.NAMED[inner],
    "device": lambda file, inner, node: as_device(inner),
    "ndarray": lambda file, inner, node: file.tensor(inner)._array,
    "scalar": lambda file, inner, node: file.tensor(inner)._array[()],
    "pickle": lambda file, inner, node: file.unpickle(node)}
