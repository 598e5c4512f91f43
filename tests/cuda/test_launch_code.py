"""What a launch gives the driver: machine code, or ctypes, against a driver that notes it."""
import ctypes as C
import dataclasses
import struct
import types

import pytest
from whet.cuda import launch_code

KINDS = (("x", "*fp32"), ("n", "i32"), ("scale", "fp32"), ("wide", "i64"), ("ratio", "fp64"))


class Noting:
    """A driver's library whose launches note what their parameters are."""

    def __init__(self, status=0):
        self.seen, self.active, self.status = [], [], status
        self.cuCtxSetCurrent = C.PYFUNCTYPE(C.c_int, C.c_uint64)(self.activate)
        self.cuLaunchKernel = C.PYFUNCTYPE(
            C.c_int, C.c_uint64, *[C.c_uint] * 7, C.c_uint64, C.c_uint64, C.c_uint64)(self.launch)

    def activate(self, context):
        self.active.append(context)
        return 0

    def launch(self, function, *rest):
        grid, (shared, stream, parameters, _) = rest[:6], rest[6:]
        pointers = (C.c_uint64 * (len(KINDS) + 2)).from_address(parameters)
        read = {"*": C.c_uint64, "i32": C.c_int32, "i64": C.c_int64, "fp32": C.c_float,
                "fp64": C.c_double}
        values = [read["*" if kind[0] == "*" else kind].from_address(at).value
                  for (_, kind), at in zip(KINDS, pointers, strict=False)]
        more = [C.c_uint64.from_address(at).value for at in pointers[len(KINDS):]]
        self.seen.append((function, grid, shared, stream, values, more))
        return self.status


@pytest.fixture(params=["machine code", "ctypes"])
def launch(request):
    """Each way to launch."""
    return launch_code.launcher() if request.param == "machine code" else launch_code._by_ctypes


@pytest.mark.parametrize(
    "given", [(), ("x",), ("x", "n", "scale", "wide", "ratio"), ("ratio", "x")])
def test_the_driver_is_given_every_parameter(launch, given):
    noting = Noting()
    values = {"x": (1 << 47) + 64, "n": -3, "scale": 0.1, "wide": -(1 << 40), "ratio": -0.1}
    kernel = types.SimpleNamespace(function=1 << 40, threads=128, shared=4096, parameters=KINDS)
    fixed = {k: v for k, v in values.items() if k not in given}
    made = launch_code.Prepared(noting, kernel, 77, 9, fixed, given)
    for _ in range(2):
        told = made.by_bits([values[k] for k in given])
        assert launch(made.address, (1 << 45) + 8, *told) == 0
    want = [values["x"], -3, struct.unpack("f", struct.pack("f", 0.1))[0], -(1 << 40), -0.1]
    assert noting.seen == 2 * [(1 << 40, (9, 1, 1, 128, 1, 1), 4096, (1 << 45) + 8, want, [0, 0])]
    assert noting.active == [77, 77]


def test_programs_of_three_dimensions(launch):
    noting = Noting()
    kernel = types.SimpleNamespace(function=1, threads=32, shared=0, parameters=KINDS)
    fixed = {"x": 0, "n": 1, "scale": 1.0, "wide": 2, "ratio": 3.0}
    made = launch_code.Prepared(noting, kernel, 1, (2, 3, 4), fixed, ())
    assert launch(made.address, 0) == 0 and noting.seen[0][1] == (2, 3, 4, 32, 1, 1)


def test_launches_that_are_one_call():
    """Each gets its own of the words that the call is given, and what is added to them."""
    launch = launch_code.all_launcher()
    if launch is None:
        pytest.skip("machine code cannot be called")
    noting, made, given = Noting(), [], [[(1, 64), (0, 0)], [], [(0, -3), (2, 5), (1, 0)]]
    names = [("x", "n"), (), ("n", "wide", "x")]
    for k, told in enumerate(names):
        kernel = types.SimpleNamespace(function=100 + k, threads=32, shared=k, parameters=KINDS)
        fixed = {"x": 7, "n": 8, "scale": 0.5, "wide": 9, "ratio": 0.25}
        made.append(launch_code.Prepared(
            noting, kernel, 77, k + 1, {n: v for n, v in fixed.items() if n not in told}, told))
    words = launch_code.LaunchWords(made, given)
    for first in (10, -2):
        noting.seen.clear()
        assert launch(words.address, 3, first, 1 << 40, 1 << 33) == 0
        assert [s[0] for s in noting.seen] == [100, 101, 102]
        assert [s[1][0] for s in noting.seen] == [1, 2, 3]
        assert [s[4] for s in noting.seen] == [
            [(1 << 40) + 64, first, 0.5, 9, 0.25], [7, 8, 0.5, 9, 0.25],
            [1 << 40, first - 3, 0.5, (1 << 33) + 5, 0.25]]
    noting.status, noting.seen[:] = 719, []
    assert launch(words.address, 3, 1, 1, 1) == 719 and len(noting.seen) == 1


def test_the_drivers_status_comes_back(launch):
    noting = Noting(status=719)
    kernel = types.SimpleNamespace(function=1, threads=32, shared=0, parameters=KINDS)
    fixed = {"x": 0, "scale": 1.0, "wide": 2, "ratio": 3.0}
    made = launch_code.Prepared(noting, kernel, 1, 1, fixed, ("n",))
    assert launch(made.address, 0, 5) == 719


def test_a_kernel_on_disk_is_found_by_all_that_decides_it(monkeypatch):
    from whet.cuda import cubins
    from whet.passes.lower_triton import compile
    from whet.passes.lower_triton.source import Source
    kept, made = {}, []

    def compiled(*what):
        made.append(what)
        return compile.Compiled(repr(what).encode(), what[0].name, 4, 0, 0, "")
    store = types.SimpleNamespace(find=kept.get, put=kept.__setitem__)
    monkeypatch.setattr(cubins, "store", lambda: store)
    monkeypatch.setattr(compile, "compile", compiled)
    one = Source("one", "text", (("x", "*fp32"),), "n")
    what = [(source, capability, aligned) for capability in (80, 90) for aligned in ((), ("x",))
            for source in (one, dataclasses.replace(one, text="other"),
                           dataclasses.replace(one, warps=8))]
    for _ in range(2):
        assert [cubins.cubin(*w).binary for w in what] == [repr(w).encode() for w in what]
    assert made == what


def test_the_idle_drivers_addresses_are_aligned_as_a_devices_are():
    """Streams and events get theirs by the same call, and are of no size."""
    import whet
    from whet.cuda import device_state
    from whet.cuda.simulated.idle import IdleDriver
    with device_state.use(IdleDriver()):
        for size in (3, 1 << 20, 1 << 22):
            assert whet.cuda.Stream() and whet.empty(size, device="cuda").data_ptr() % 512 == 0
