"""save and load: everything comes back, nothing else happens, and damage is an exception."""
import copy
import importlib
import io
import json
import os
import pathlib
import pickle
import struct
import types
import zipfile
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn, optim

from tests.together import bits

DTYPES = [
    whet.bool, whet.uint8, whet.int8, whet.uint16, whet.int16, whet.uint32, whet.int32, whet.uint64,
    whet.int64, whet.float16, whet.bfloat16, whet.float32, whet.float64, whet.complex64,
    whet.complex128]


def through(obj, **k):
    f = io.BytesIO()
    whet.save(obj, f)
    f.seek(0)
    return whet.load(f, **k)


def raw(obj):
    f = io.BytesIO()
    whet.save(obj, f)
    return f.getvalue()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_and_shape(dtype, tmp_path):
    rng = np.random.default_rng(0)
    for shape in ((), (3,), (0, 2), (2, 3, 4)):
        t = whet.tensor(rng.standard_normal(shape) * 3).to(dtype)
        whet.save({"t": t}, tmp_path / "f")
        for options in ({}, {"mmap": True}):
            back = whet.load(tmp_path / "f", **options)["t"]
            assert bits(back) == bits(t)
            if back.numel():
                back.zero_()                                 # the memory is ours, also when mapped
        assert bits(whet.load(tmp_path / "f")["t"]) == bits(t)


def test_structures():
    t = whet.arange(3)
    obj = {
        "a": [1, -2 ** 70, 1.5, float("inf"), True, None, "text \u00e9\x00"], 5: (t, {"x": ()}),
        (1, "k"): {1, 2}, None: 2j, "bytes": b"\x00\xff", "dtype": whet.bfloat16, "size": t.shape,
        "device": whet.device("cpu"), "array": np.ones((2, 2), np.int8), "number": np.float32(2.5),
        "o": OrderedDict(b=1, a=2), "d": defaultdict(list, {1: [2]}), "f": frozenset([3])}
    back = through(obj)
    assert (list(back) == list(obj) and back["a"] == obj["a"] and back[(1, "k")] == {1, 2}
            and back[None] == 2j)
    assert bits(back[5][0]) == bits(t) and back[5][1] == {"x": ()}
    assert back["bytes"] == b"\x00\xff" and back["dtype"] is whet.bfloat16
    assert (isinstance(back["size"], whet.Size) and back["size"] == (3,)
            and back["device"] == whet.device("cpu"))
    assert (back["array"].dtype == np.int8 and back["number"] == 2.5
            and type(back["number"]) is np.float32)
    assert list(back["o"].items()) == [("b", 1), ("a", 2)] and isinstance(back["o"], OrderedDict)
    assert back["d"][9] == [] and back["d"][1] == [2] and back["f"] == frozenset([3])
    assert (np.isnan(through(float("nan"))) and through([]) == [] and through("x") == "x"
            and bits(through(t)) == bits(t))
    with pytest.raises(ValueError, match="contains itself"):
        loop = []
        loop.append(loop)
        raw(loop)


def test_layouts_and_flags():
    a = whet.randn(2, 3, 4, 5)
    last = a.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    back = through([last, a[:, ::2], a.flip(0), a[0, 0, 0, :1].expand(1000, 5),
                    nn.Parameter(whet.ones(2)), nn.Buffer(whet.ones(1), persistent=False),
                    whet.ones(1, requires_grad=True)])
    for x, y in zip(back, [last, a[:, ::2], a.flip(0), a[0, 0, 0, :1].expand(1000, 5)]):
        assert bits(x) == bits(y)
    assert back[0].stride() == last.stride()
    assert (isinstance(back[4], nn.Parameter) and back[4].requires_grad
            and isinstance(back[5], nn.Buffer) and not back[5].persistent)
    assert back[6].requires_grad and back[6].is_leaf
    assert len(raw(whet.ones(1).expand(10**6, 10**6))) < 2000


def test_shared_memory_stays_shared_and_is_stored_once():
    t = whet.arange(10.0)
    obj = {
        "whole": t, "same": t, "again": t.view(10), "part": t[2:5], "back": t.flip(0),
        "rows": t.view(2, 5)}
    back = through(obj)
    assert back["same"] is back["whole"]
    back["whole"][3] = 100
    assert back["again"][3].item() == back["part"][1].item() == back["rows"][0, 3].item() == 100
    assert bits(back["back"]) == bits(t.flip(0))
    assert (len(raw([whet.zeros(1000)] * 1)) + 500
            > len(raw([(z := whet.zeros(1000)), z, z.view(10, 100)])))
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    state = through(model.state_dict())
    state["0.weight"].zero_()
    assert not state["1.weight"].any()


def test_a_state_dict_is_a_plain_safetensors_file():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    data = raw(model.state_dict())
    n, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + n])
    assert n % 8 == 0 and set(header) == {"__metadata__", *model.state_dict()}
    assert all(isinstance(v, str) for v in header["__metadata__"].values())
    e = header["0.weight"]
    assert e["dtype"] == "F32" and e["shape"] == [3, 2]
    a = np.frombuffer(data[8 + n:], np.uint8)[slice(*e["data_offsets"])].view(np.float32)
    assert (a.reshape(3, 2) == model[0].weight.detach().numpy()).all()
    other = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    state = through(model.state_dict())
    assert state._metadata["1"] == {"version": 2}
    other.load_state_dict(state)
    assert bits(other[0].weight) == bits(model[0].weight)


def safetensors(header, data=b""):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def test_plain_safetensors_files_load():
    a = np.arange(6, dtype=np.float32)
    data = safetensors(
        {
            "x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {
                "format": "pt"}, "b": {"dtype": "BF16", "shape": [], "data_offsets": [24, 26]}},
        a.tobytes() + b"\x80\x3f")
    back = whet.load(io.BytesIO(data))
    assert (set(back) == {"x", "b"} and back["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
            and back["b"].item() == 1)
    assert whet.load(io.BytesIO(safetensors({}))) == {}


def test_training_goes_on_from_a_checkpoint(tmp_path):
    def make():
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        return model, optim.Adam(model.parameters(), lr=0.05)

    def train(model, opt):
        opt.zero_grad()
        model(whet.ones(2, 3)).square().sum().backward()
        opt.step()
    model, opt = make()
    for _ in range(3):
        train(model, opt)
    whet.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": 3}, tmp_path / "c.st")
    saved = whet.load(tmp_path / "c.st")
    other, again = make()
    other.load_state_dict(saved["model"])
    again.load_state_dict(saved["opt"])
    assert saved["epoch"] == 3 and list(saved["opt"]["state"]) == [0, 1, 2, 3]
    for _ in range(2):
        train(model, opt)
        train(other, again)
    assert all(bits(p) == bits(q) for p, q in zip(model.parameters(), other.parameters()))


class Thing:
    def __init__(self, t):
        self.t = t


class Evil:
    ran = []

    def __reduce__(self):
        return Evil.ran.append, ("ran",)


def test_pickles_only_when_asked_for():
    t = whet.ones(3)
    data = raw({"thing": Thing(t), "t": t})
    with pytest.raises(pickle.UnpicklingError, match="Thing.*weights_only=False"):
        whet.load(io.BytesIO(data))
    back = whet.load(io.BytesIO(data), weights_only=False)
    assert isinstance(back["thing"], Thing) and back["thing"].t is back["t"]
    model = through(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), weights_only=False)
    assert model(whet.ones(1, 2)).shape == (1, 2)
    for data in (raw(Evil()), pickle.dumps(Evil()), pickle.dumps(Evil(), 2) + b" " * 20):
        with pytest.raises((pickle.UnpicklingError, RuntimeError)):
            whet.load(io.BytesIO(data))
    assert Evil.ran == []
    assert whet.load(io.BytesIO(pickle.dumps({"a": 1})), weights_only=False) == {"a": 1}


def test_map_location():
    f = io.BytesIO(raw({"a": whet.ones(2)}))
    for where in (("cpu", whet.device("cpu"), {"cpu": "cpu"}, lambda t, loc: t * 2,
                   lambda t, loc: None)):
        f.seek(0)
        assert whet.load(f, map_location=where)["a"].tolist() in ([1, 1], [2, 2])


def test_files_are_replaced_whole(tmp_path, monkeypatch):
    path = tmp_path / "f"
    whet.save([1, whet.ones(2)], path)
    before = path.read_bytes()

    def full(*a):
        raise OSError("no space left")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        whet.save([2, whet.zeros(5)], path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["f"]
    monkeypatch.undo()
    (tmp_path / "link").symlink_to(path)
    whet.save(3, tmp_path / "link")
    assert whet.load(path) == 3 and (tmp_path / "link").is_symlink()
    with pytest.raises(FileNotFoundError):
        whet.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match="mmap"):
        whet.load(io.BytesIO(before), mmap=True)


SAMPLE = {
    "w": whet.arange(6.0).view(2, 3),
    "flags": whet.tensor([True, False]),
    "n": [1, 2.5, ("x", None)]}


def equal(a, b):
    if isinstance(a, whet.Tensor):
        return isinstance(b, whet.Tensor) and bits(a) == bits(b)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return a == b


def test_a_flipped_byte_is_an_error_or_does_not_matter():
    data = raw(SAMPLE)
    for i in range(len(data)):
        for change in (0x01, 0x20, 0x80, 0xFF):
            damaged = data[:i] + bytes([data[i] ^ change]) + data[i + 1:]
            try:
                back = whet.load(io.BytesIO(damaged))
            except (RuntimeError, pickle.UnpicklingError):
                continue
            assert equal(back, SAMPLE), i


def test_a_file_cut_short_is_an_error(tmp_path):
    data = raw(SAMPLE)
    for n in range(1, len(data)):
        with pytest.raises(RuntimeError):
            whet.load(io.BytesIO(data[:n]))
    with pytest.raises(RuntimeError):
        whet.load(io.BytesIO(data + b"x"))
    for cut in (data[:-1], data + b"x"):
        (tmp_path / "f").write_bytes(cut)
        with pytest.raises(RuntimeError):
            whet.load(tmp_path / "f", mmap=True)


@pytest.mark.parametrize("header", [[], 3, {"x": 1}, {"x": {"dtype": "F32", "shape": [2]}}, {
    "x": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}
}, {"x": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, {
    "x": {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]}
}, {"x": {"dtype": "F32", "shape": [2 ** 62, 2 ** 62], "data_offsets": [0, 4]}}, {
    "x": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}
}, {"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 2 ** 60]}}, {
    "x": {"dtype": "F32", "shape": [0] * 65, "data_offsets": [0, 0]}}, {
        "x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "y": {
            "dtype": "F32", "shape": [1], "data_offsets": [2, 6]}}, {
                "x": {"dtype": "F32", "shape": [2 ** 40], "data_offsets": [0, 2 ** 42]}}, {
                    "__metadata__": {"whet": "{}"}}, {"__metadata__": 3}, {
                        "__metadata__": {"whet": "{}", "whet.crc32": "1"}}, {
                            "x": {"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]}}, {
                                "x": {"dtype": "BOOL", "shape": [4], "data_offsets": [0, 4]}}],
                         ids=lambda h: str(h)[:60])
def test_bad_headers(header):
    with pytest.raises(RuntimeError):
        whet.load(io.BytesIO(safetensors(header, b"\x01\x02\x03\x04")))


def test_hostile_headers():
    entry = b'"x": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}'
    twice = b"{" + entry + b", " + entry + b"}"
    for text in (twice, b"[" * 100000, b'{"a":' * 50000, b"\xff\xfe", b"", b"NaN"):
        with pytest.raises(RuntimeError):
            whet.load(io.BytesIO(struct.pack("<Q", len(text)) + text))
    for data in ((b"\x00" * 7, b"\xff" * 100, b"PK\x03\x04" + b"\0" * 30,
                  struct.pack("<Q", 2 ** 40))):
        with pytest.raises(RuntimeError):
            whet.load(io.BytesIO(data))


def forged(tree, tensors=(), entries=(("m", "U8", [8]),), pickles=()):
    """A file with a valid checksum and any structure."""
    import zlib

    from whet.serialization import _canonical
    header, at = {}, 0
    for name, dtype, shape in entries:
        n = int(np.prod(shape)) * {"U8": 1, "F32": 4}[dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + n]}
        at += n
    inner = json.dumps({
        "version": 1, "tree": tree, "tensors": list(tensors), "pickles": list(pickles),
        "crc32": {}})
    check = str(zlib.crc32((inner + _canonical(header)).encode()))
    return safetensors({"__metadata__": {"whet": inner, "whet.crc32": check}, **header}, bytes(at))


@pytest.mark.parametrize(
    "tree, tensors",
    [({"tensor": 0}, []), ({"tensor": -1}, [{"entry": "m"}]), ({"tensor": "x"}, []),
     ({"what": 1}, []), ({}, []), ({"dict": 3}, []), ({"dict": [[[1], 2]]}, []),
     ({"tensor": 0}, [{"entry": "zzz"}]), ({"tensor": 0}, [{"entry": "m", "order": [5]}]),
     *[({"tensor": 0}, [{"entry": "m", "view": view}])
       for view in (["float32", [3], [4], 0], ["float32", [2], [4], 1], ["float32", [2], [-4], 0],
                    ["float32", [2], [2 ** 63], 0], ["nonsense", [2], [4], 0],
                    ["float32", [1], [4], -4])],
     ({"tensor": 0}, [{"entry": "m", "class": "os.system"}]),
     ({"tensor": 0}, [{"entry": "m", "requires_grad": True}]),
     ({"tensor": 0}, [{"entry": "m", "complex": True}]),
     ({"defaultdict": [], "factory": "eval"}, []), ({"dtype": "__class__"}, []),
     ({"bytes": "!!"}, []), ({"float": "exec"}, []), ({"complex": [1, 2, 3]}, []),
     ({"device": "moon"}, []), ({"set": [[1]]}, [])],
    ids=lambda x: str(x)[:50])
def test_forged_structures(tree, tensors):
    with pytest.raises(RuntimeError):
        whet.load(io.BytesIO(forged(tree, tensors)))


def test_deep_structures():
    deep = x = []
    for _ in range(90):
        x.append([])
        x = x[0]
    assert through(deep) == deep
    for _ in range(200):
        x.append([])
        x = x[0]
    with pytest.raises(ValueError, match="nested more than"):
        raw(deep)
    nested = "[" * 5000 + "]" * 5000
    with pytest.raises(RuntimeError):
        import zlib
        inner = '{"version":1,"tree":' + nested + ',"tensors":[],"pickles":[]}'
        check = str(zlib.crc32((inner + "{}").encode()))
        whet.load(io.BytesIO(safetensors({"__metadata__": {"whet": inner, "whet.crc32": check}})))


# ---- files of PyTorch's --------------------------------------------------------------------------
GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
FORMS = {"pytorch.pt": [{}, {"mmap": True}, {"weights_only": False}], "pytorch-legacy.pt": [{}]}


@pytest.mark.parametrize("name,options", [(n, o) for n, each in FORMS.items() for o in each])
def test_a_file_of_pytorch(name, options):
    got = whet.load(GOLDEN / name, **options)
    assert got["whole"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert got["part"].tolist() == [[1, 4], [2, 5]] and got["part"].stride() == (1, 3)
    got["whole"][0, 1] = 9
    assert got["part"][0, 0] == 9                       # they share memory, as they did
    for t, dtype in zip(got["types"], DTYPES_OF_FILE):
        assert t.dtype is dtype
        assert bits(t) == bits(whet.tensor([1, -2]).to(dtype))
    assert type(got["parameter"]) is nn.Parameter and got["parameter"].requires_grad
    assert got["empty"].shape == (0, 3) and got["scalar"].requires_grad
    state = got["state"]
    assert list(state) == ["weight", "bias"] and state._metadata[""] == {"version": 1}
    layer = nn.Linear(1, 2)
    layer.load_state_dict(state)
    assert layer(whet.ones(1)).tolist() == [4, 5]
    assert got["other"] == [whet.float16, whet.Size([1, 2]), whet.device("cpu"), b"\xff\x00", {1},
                            2j, None, Counter("aa")]


DTYPES_OF_FILE = [
    whet.bool, whet.uint8, whet.int8, whet.int16, whet.int32, whet.int64, whet.float16,
    whet.bfloat16, whet.float32, whet.float64, whet.complex64, whet.complex128]


def test_an_unsigned_type_has_no_storage_of_its_own():
    got = whet.load(GOLDEN / "pytorch.pt")["unsigned"]
    assert got.dtype is whet.uint16 and got.tolist() == [1, 65535]


def test_a_file_of_pytorch_from_a_stream():
    with open(GOLDEN / "pytorch.pt", "rb") as f:
        got = whet.load(io.BytesIO(f.read()), map_location=lambda t, where: t + 1)
    assert got["whole"][0].tolist() == [1, 2, 3]


def archive(text, *members):
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as z:
        z.writestr("archive/data.pkl", text)
        for name, raw in members:
            z.writestr(f"archive/{name}", raw)
    f.seek(0)
    return f


class Named:
    """Pickles as a call of a function that a file names."""

    def __reduce__(self):
        return print, ("it ran",)


def test_a_file_of_pytorch_calls_only_what_is_known(capsys):
    text = pickle.dumps(Named(), 2)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed.*print"):
        whet.load(archive(text))
    assert not capsys.readouterr().out
    with whet.serialization.safe_globals([(print, "__builtin__.print")]):
        assert whet.serialization.get_safe_globals() == [(print, "__builtin__.print")]
        whet.load(archive(text))
    assert capsys.readouterr().out == "it ran\n"
    assert not whet.serialization.get_safe_globals()


class Settings:
    """An object that users keep beside the weights."""

    def __init__(self):
        self.depth = 3


def test_an_object_of_an_allowed_class_is_read_with_weights_only(tmp_path, capsys):
    whet.save({"settings": Settings(), "w": whet.ones(2)}, tmp_path / "kept")
    with pytest.raises(pickle.UnpicklingError, match="pickled object of .*Settings"):
        whet.load(tmp_path / "kept")
    with whet.serialization.safe_globals([Settings]):
        assert whet.load(tmp_path / "kept")["settings"].depth == 3
        whet.save([Settings(), Named()], tmp_path / "calls")
        with pytest.raises(pickle.UnpicklingError, match="object of __builtin__.print"):
            whet.load(tmp_path / "calls")
    assert not capsys.readouterr().out


def test_a_whole_module_of_pytorch_is_refused():
    text = b"ctorch.nn.modules.linear\nLinear\n."
    with pytest.raises(pickle.UnpicklingError, match="state_dict"):
        whet.load(archive(text), weights_only=False)


def a_tensor(size, stride, offset=0):
    return (b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\n"
            b"X\x01\0\0\0" b"0X\x03\0\0\0cpuK\x04tQ" + pickle.dumps(offset, 0)[:-1]
            + pickle.dumps(size, 2)[2:-1] + pickle.dumps(stride, 2)[2:-1] + b"\x89NtR.")


def test_a_tensor_that_leaves_its_memory_is_damage():
    memory = "data/0", np.arange(4, dtype=np.float32).tobytes()
    got = whet.load(archive(a_tensor((2, 2), (1, 2)), memory))
    assert got.tolist() == [[0, 2], [1, 3]]
    for size, stride, offset in (((5,), (1,), 0), ((2,), (1,), 3), ((2,), (-1,), 1), ((2,), (), 0)):
        with pytest.raises(RuntimeError, match="damaged"):
            whet.load(archive(a_tensor(size, stride, offset), memory))


def test_memory_of_a_machine_with_the_other_byte_order():
    raw = np.arange(4, dtype=">f4").tobytes()
    got = whet.load(archive(a_tensor((4,), (1,)), ("data/0", raw), ("byteorder", "big")))
    assert got.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", FORMS)
def test_a_shortened_file_of_pytorch_is_an_error(name, tmp_path):
    raw = (GOLDEN / name).read_bytes()
    for n in range(60, len(raw) - 1, 97):
        (tmp_path / "f").write_bytes(raw[:n])
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            whet.load(tmp_path / "f")


@pytest.mark.parametrize("module", ["whet", "whet.nn.functional", "whet.linalg", "whet.special",
                                    "whet.fft", "whet.nn.utils", "whet.array_api"])
def test_public_functions_are_pickled_by_name(module):
    module = importlib.import_module(module)
    functions = [getattr(module, n) for n in dir(module) if not n.startswith("_")]
    functions = [f for f in functions if isinstance(
        f, types.FunctionType | types.BuiltinFunctionType) and f.__module__.startswith("whet")]
    assert functions
    for f in functions:
        assert pickle.loads(pickle.dumps(f)) is f


def test_pickles_of_other_functions_of_c_are_as_before():
    assert pickle.dumps(len, 0) == b"c__builtin__\nlen\np0\n."
    assert pickle.loads(pickle.dumps([1].index))(1) == 0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.activations = [whet.tanh, F.relu, F.softmax]

    def forward(self, x):
        return self.activations[2](self.activations[1](self.activations[0](x)), -1)


def test_models_that_hold_functions_are_saved_whole():
    x = whet.arange(6.0).view(1, 3, 2) - 3
    for model in Block(), nn.TransformerEncoderLayer(2, 1, 4, dropout=0.0):
        again = through(model, weights_only=False)
        assert (again(x) == model(x)).all()


def test_a_pickle_leaves_history_behind():
    """A module's `weight_norm` has a weight that was computed; modules are pickled with it."""
    y = whet.ones(2, requires_grad=True) * 2
    for z in (pickle.loads(pickle.dumps(y)), copy.copy(y)):
        assert z.tolist() == [2, 2] and z.is_leaf and z.requires_grad
    layer = nn.utils.weight_norm(nn.Linear(2, 3))
    x, again = whet.ones(1, 2), pickle.loads(pickle.dumps(layer))
    assert whet.equal(again(x), layer(x)) and again.weight.grad_fn is not None


@pytest.mark.parametrize("name", ["pytorch-kinds.pt", "pytorch-kinds-legacy.pt"])
def test_what_pytorch_leaves_to_who_reads_a_tensor_is_done(name):
    got = whet.load(GOLDEN / name)
    assert got["conjugated"].tolist() == [[1 - 2j, 3 + 1j, -0.5j]]
    assert got["negated"].tolist() == [[-2, 1, -0.5]]


def test_sparse_and_quantised_tensors_of_pytorch():
    got = whet.load(GOLDEN / "pytorch-kinds.pt")
    given, coalesced, *compressed = got["sparse"]
    assert not given.is_coalesced() and coalesced.is_coalesced()
    small = [[0, 0, 1], [2, 0, 3]]
    blocks = [[1, 2, 0, 0], [0, 3, 0, 0], [0, 0, 0, 0], [0, 0, 4, 0]]
    assert given.to_dense().tolist() == coalesced.to_dense().tolist() == small
    assert [str(s.layout) for s in compressed] == [
        f"whet.sparse_{kind}" for kind in ("csr", "csc", "bsr", "bsc")]
    assert [s.to_dense().tolist() for s in compressed] == [small, small, blocks, blocks]
    per_tensor, per_channel = got["quantised"]
    assert per_tensor.dtype is whet.quint8 and per_tensor.dequantize().tolist() == [-1, 0, 2]
    assert per_channel.dtype is whet.qint8 and per_channel.q_per_channel_axis() == 0
    assert per_channel.dequantize().tolist() == [[1, 2], [3, 4]]


def test_a_view_without_dimensions_shares_its_memory():
    x = whet.arange(6.0).reshape(2, 3)
    file = io.BytesIO()
    whet.save([x, x[1, 2]], file)
    file.seek(0)
    whole, one = whet.load(file)
    whole[1, 2] = 9
    assert one.item() == 9


def test_tensors_of_pytorch_without_memory_are_on_the_device_meta():
    made = (b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nbfloat16\n"
            b"(K\x02K\x03tp1\n(K\x01K\x02tp2\n\x88tR")
    for text in made, b"ctorch._utils\n_rebuild_parameter\n(" + made + b"\x88)tR":
        got = whet.load(archive(b"\x80\x02" + text + b"."))
        assert got.device.type == "meta" and got.dtype is whet.bfloat16 and got.requires_grad
        assert (tuple(got.shape), got.stride()) == ((2, 3), (1, 2))
    assert isinstance(got, nn.Parameter)


@pytest.mark.parametrize("name", ["_utils\n_rebuild_nothing", "unheard.of\nThing"])
def test_a_name_of_pytorch_for_which_there_is_nothing_is_said(name):
    with pytest.raises(pickle.UnpicklingError, match="names torch.* nothing here"):
        whet.load(archive(f"ctorch.{name}\n.".encode()), weights_only=False)


@pytest.mark.parametrize("data, told", [
    (b"\x08\x09", "it has only 2 bytes"),
    (b"\x08\x09\x12\x04whet: an ONNX model begins so", "an ONNX model is read by whet.onnx.load"),
])
def test_a_file_of_another_kind_is_said_to_be_one(tmp_path, data, told):
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    with pytest.raises(RuntimeError, match=told):
        whet.load(path)


def test_an_empty_file_is_at_its_end():
    with pytest.raises(EOFError, match="empty"):
        whet.load(io.BytesIO())
