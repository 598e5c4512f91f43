"""What a recorder keeps in the place of arrays: stand-ins that lie as they did, digests, copies
of what is written to."""
import numpy as np
import pytest
import whet
from whet import jit
from whet.ir.memory_spans import address
from whet.jit.program import value_layouts
from whet.jit.program.value_layouts import Originals, Values
from whet.jit.values.same_bits import PIECE, digest, same_bits


# ---- bits ----------------------------------------------------------------------------------------
def changed(a, where, to):
    b = a.copy()
    b.reshape(-1)[where] = to
    return b


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i1", "?", "c8"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (0, 4), (2, PIECE + 3),
                                   (3 * PIECE // 5, 5)])
def test_equal_arrays_have_equal_digests_however_they_lie(dtype, shape):
    rng = np.random.default_rng(0)
    a = np.asarray(9 * rng.standard_normal(shape)).astype(dtype)
    for b in a.copy(), a.copy("F"), np.stack([a, a], -1)[..., 1], a[::-1][::-1] if a.ndim else a:
        assert digest(a) == digest(b) and same_bits(a, b)
    if a.size:
        for where in 0, a.size // 2, a.size - 1:
            b = a.copy()
            raw = b.reshape(-1).view(np.uint8)
            raw[where * a.itemsize] ^= 1
            assert digest(a) != digest(b) and not same_bits(a, b)


def test_what_differs_by_signs_or_places_has_another_digest():
    a = np.random.default_rng(0).standard_normal(1 << 15).astype("f4")
    others = [-a, changed(a, [1, 3], -a[[1, 3]]), changed(a, [5, 6], a[[6, 5]]), a[::-1].copy(),
              np.roll(a, 1), a.reshape(2, -1), a.view("i4"),
              np.roll(a.reshape(-1, 8192), 1, 0).reshape(-1), np.zeros_like(a)]
    others += [changed(np.zeros_like(a), i, -0.0) for i in (0, 1, 8192, 8193)]
    assert len({digest(x) for x in [a, *others]}) == 1 + len(others)


def test_all_nans_are_one():
    a = np.arange(9, dtype="f4")
    a[4] = np.nan
    b = a.copy()
    b.view("u4")[4] ^= 0x80000001
    assert b.tobytes() != a.tobytes() and same_bits(a, b) and digest(a) == digest(b)
    assert not same_bits(a, changed(a, 4, 4)) and digest(a) != digest(changed(a, 4, 4))


# ---- stand-ins -----------------------------------------------------------------------------------
def test_stand_ins_lie_as_the_arrays_do():
    v, a = Values(), np.zeros((4, 6), "f4")
    views = [a[1:], a.T, a[:, ::-1], a[2:3, 1::2], a.reshape(-1), np.broadcast_to(a[:1], (5, 6))]
    n = v.made(a)
    numbers = [v.made(x, [n]) for x in views]
    other = np.zeros((4, 6), "f4")
    m = v.made(other)
    for x, k in zip([a, *views], [n, *numbers]):
        s = v.arrays[k]
        assert (s.shape, s.strides, s.dtype, s.flags.writeable, s.flags.c_contiguous) == (
            x.shape, x.strides, x.dtype, x.flags.writeable, x.flags.c_contiguous)
        assert (address(s) - address(v.arrays[n]) == address(x) - address(a)
                and (address(s) - address(x)) % value_layouts.LINE == 0)
        assert np.may_share_memory(s, v.arrays[n]) and not np.may_share_memory(s, v.arrays[m])


def test_a_number_is_that_of_one_array_for_as_long_as_it_lives():
    v, seen = Values(), {}
    for _ in range(200):                     # most are made where another was
        a = np.zeros(3)
        assert v.number(a) is None
        n = v.made(a)
        assert v.number(a) == n and v.array(n) is a
        seen.setdefault(id(a), []).append(n)
        del a
        assert v.array(n) is None
    assert max(map(len, seen.values())) > 1


def test_held_arrays_stay():
    v = Values()
    with v.holding():
        with v.holding():
            n = v.made(np.zeros(3))
        assert v.array(n) is not None
    assert v.array(n) is None


# ---- what was there before -----------------------------------------------------------------------
def test_what_is_written_to_is_copied_just_before_and_nothing_else():
    size = value_layouts.SHORT
    base = np.zeros(8 * size, np.uint8)
    parts = [base[:2 * size], base[size:3 * size], base[4 * size:6 * size], base[5 * size:]]
    values = Values()
    before = Originals(values)
    for part in parts:
        before.note_first_use(values.from_outside(part))
    before.write(base[2 * size:2 * size + 1])
    assert set(before.copies) == {1}
    base[2 * size] = 7
    before.write(base[5 * size:5 * size + 9])
    base[5 * size:5 * size + 9] = 8
    assert (set(before.copies) == {1, 2, 3} and before[0] is parts[0]
            and not any(before[n].any() for n in range(4)))
    assert before.untouched(0)
    base[3] = 1                              # by nobody's leave
    assert not before.untouched(0)


def test_where_a_tensor_from_outside_changed_unseen_nothing_is_replayed(monkeypatch):
    monkeypatch.setattr(Originals, "untouched", lambda self, n: False)
    held = whet.ones(5000)
    t = jit.trace(lambda x: x + held)
    with pytest.warns(jit.TraceWarning, match="writes other bits to a tensor from outside"):
        assert t(whet.ones(5000)).sum() == 10_000
    assert not t.explain(data=True)["paths"]


def test_a_program_never_writes_to_what_the_run_wrote_to(monkeypatch):
    """Where there is no copy of what was there before, none is tried."""
    monkeypatch.setattr(Originals, "write", object.__eq__)      # which does nothing
    held = whet.ones(5000)
    t = jit.trace(lambda x: held.add_(x).sum())
    with pytest.warns(jit.TraceWarning, match="where the recorder does not look"):
        for k in range(4):
            assert t(whet.ones(5000)) == 5000 * (k + 2) and held[7] == k + 2


# ---- addresses and ids are used again ------------------------------------------------------------
@pytest.mark.parametrize("size", [3, 100_000])
def test_values_that_follow_each_other_in_one_place_are_told_apart(size):
    def f(x, flag):
        total = x * 0
        for i in range(40):
            y = x * (i + 1)                  # where the one before was
            z = y.exp() if i % 3 else y.reshape(-1)[1:].sum()
            total = total + (z if i % 2 else -z)
            if i % 5 == 0:
                total.mul_(0.5)
            del y, z
        return total, x.sum() * flag
    t = jit.trace(f)
    for k in range(4):
        x = whet.linspace(0, 1 + k, size)
        got, want = t(x, 2.0), f(x, 2.0)
        assert all(a.numpy().tobytes() == b.numpy().tobytes() for a, b in zip(got, want))
    assert t.explain(data=True)["paths"][0]["calls"] >= 2


def test_what_a_run_drops_is_gone_while_it_is_recorded(monkeypatch):
    from whet.jit.capture import recorder
    alive, note = [], recorder.Recorder.note

    def counting(self, *args):
        note(self, *args)
        alive.append(sum(r() is not None for r in self.values.real))
    monkeypatch.setattr(recorder.Recorder, "note", counting)
    jit.trace(lambda x: ((((x * 2) + 1).exp() * 3) - 1).tanh())(whet.ones(3))
    assert len(alive) == 6 and max(alive) == 3           # what it was given, an operand, a result


def every_second(x): return x.as_strided((3,), (1,)) * 2
def rows_of_its_own(x): return x.as_strided((2, 2), (8, 1)) * 2


@pytest.mark.parametrize("f, reason", [
    (every_second, "shows memory outside of the tensor"), (rows_of_its_own, None)])
@pytest.mark.filterwarnings("ignore:.*runs eagerly")
def test_a_view_is_not_inside_of_memory_between_elements(f, reason):
    """What lies between the elements of an argument is no input of a recording."""
    traced = jit.trace(f)
    for k in range(6):
        whole = whet.arange(32.0).reshape(4, 8) + k
        x = whole[:, :4] if reason is None else whole[:, ::2]
        assert traced(x).tolist() == f(x).tolist()
    why = traced.explain(data=True)["refused"]
    assert why is None if reason is None else reason in str(why)
