"""Parts of which data decides sizes: machine code sets one program to the sizes of each call. Its
words are those of the program that Python makes for the same sizes."""
import numpy as np
import pytest
import whet
from whet import nn
from whet.cpu import memory, native
from whet.ir.memory_spans import address
from whet.jit.program import program_in_parts, resized_program
from whet.jit.program.program_in_parts import LaterPart
from whet.jit.program.programs_of_sizes import ProgramOfSizes
from whet.jit.program.resized_program import ResizedProgram

pytestmark = pytest.mark.skipif(not native.enabled(), reason="there is no machine code for calls")
W = whet.tensor(np.random.default_rng(3).standard_normal((8, 8)).astype("f"))


@pytest.fixture(autouse=True)
def set_by_machine_code_at_once(monkeypatch, whatever_it_costs):
    monkeypatch.setattr(program_in_parts, "RESIZED", 1)


def rows(rng, n):
    return whet.tensor(rng.standard_normal((n, 8)).astype("f"))


def loss(x):
    z = (whet.relu(x @ W) - x) ** 2
    return z[z > 0.5].mean() / len(x)


def several(x):
    s = x[x[:, 0] > 0]
    return s.softmax(0), s @ s.t(), s.t(), s[::2], s[-1], s * (1 / len(s)), x * s.mean()


def one_of_another(x):
    s = x[x[:, 0] > 0]
    k = s[s[:, 1] > -1]
    return s.cumsum(0), k.sum(0), k


def by_python(x):
    i, j = whet.where(x > 0.5)
    return (x[i, j] * i).sum(), j.bincount(minlength=8), whet.arange(len(i)).flip(0) * len(j)


def with_gradients(x):
    w = W.clone().requires_grad_()
    y = (x @ w)[x > 0]
    y.square().mean().backward()
    return w.grad, y.detach()


FUNCTIONS = [loss, several, one_of_another, by_python, with_gradients]


def bits(x):
    """All tensors in something, to the bit."""
    if whet.is_tensor(x):
        return x.dtype, x.shape, x.stride(), x.numpy().tobytes()
    return tuple(map(bits, x)) if isinstance(x, tuple | list) else x


class Counted:
    """How many programs machine code was asked for and gave, and how many Python made."""

    def __init__(self, monkeypatch):
        self.fitted = self.asked = self.made = 0
        fits, program = ResizedProgram.fits, ProgramOfSizes.program

        def counted(this, given):
            self.asked += 1
            found = fits(this, given)
            self.fitted += found
            return found

        def made(this, *args):
            self.made += 1
            return program(this, *args)
        monkeypatch.setattr(ResizedProgram, "fits", counted)
        monkeypatch.setattr(ProgramOfSizes, "program", made)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_machine_code_serves_sizes_that_nobody_has_seen(function, monkeypatch):
    rng, traced, counted = np.random.default_rng(1), whet.jit.trace(function), Counted(monkeypatch)
    for k in range(120):
        if k == 40:
            counted.fitted = counted.made = 0
        x = rows(rng, 60 + int(rng.integers(30)))
        assert bits(traced(x)) == bits(function(x))
    assert counted.fitted >= 50 and counted.made <= 40, vars(counted)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_its_words_are_those_of_pythons_program(function, monkeypatch):
    compared = []
    program = LaterPart.program

    def both(part, given, line):
        found = program(part, given, line)
        if isinstance(found, ResizedProgram):
            resized, part.resized = part.resized, []
            other = part.planned(given)
            part.resized = resized
            if other.model is found.model and hasattr(other, "of_sizes") and (
                    other.of_sizes is found.of_sizes):
                same_words(found, other)
                compared.append(found)
            assert found.fits(given)         # what it made memory for was that call's
        return found
    monkeypatch.setattr(LaterPart, "program", both)
    rng, traced = np.random.default_rng(2), whet.jit.trace(function)
    for _ in range(80):
        x = rows(rng, 60 + int(rng.integers(30)))
        assert bits(traced(x)) == bits(function(x))
    assert len(compared) >= 20


def same_words(found, other):
    """Are the lists of launches of two programs the same, but for where they lie?"""
    of_sizes = found.of_sizes
    mine, words = found.keep[1].copy(), other.keep[0].copy()
    for a in (mine, words):
        start = (found.keep[1] if a is mine else other.keep[0]).ctypes.data
        inside = (a >= start) & (a < start + a.nbytes)
        a[inside] -= start
    for i, which in of_sizes.words.placed:       # constants have memory of their own
        want = next(k for k in other.keep[1:] if address(k) == words[i])
        if found.constants is None:
            dtype = of_sizes.own.makers[which].outline.dtype
            constant = found.keep[3][which:which + 1].view(dtype)[:1]
        else:
            constant = next(k for arrays, _ in found.constants.known.values() for k in arrays
                            if address(k) == mine[i])
        assert constant.tobytes() == want.tobytes()
        mine[i] = words[i] = 0
    assert mine.tolist() == words.tolist()
    for n, a in zip(found.made, found.memory, strict=True):
        if n >= 0:
            t = other.arrays[n]
            assert (a.shape, a.strides, a.dtype) == (t.shape, t.strides, t.dtype)
        else:
            assert a.nbytes == other.arena


def program_of(function, n=64):
    """A program for all sizes, and what a call gives it."""
    found = []
    program = LaterPart.program

    def noted(part, given, line):
        made = program(part, given, line)
        if isinstance(made, ResizedProgram):
            found.append((made, list(given)))
        return made
    rng, traced = np.random.default_rng(1), whet.jit.trace(function)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LaterPart, "program", noted)
        for _ in range(40):
            traced(rows(rng, n))
    return found[-1]


def test_what_lies_otherwise_is_not_served():
    made, given = program_of(lambda x: x[x[:, 0] > 0] * 2 + x.mean())
    assert made.fits(given)
    for k, a in enumerate(given):
        wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype) if a.ndim else None
        others = [a.astype("f8" if a.dtype != "f8" else "f4"), a[None], a.tolist()]
        others += [] if wide is None else [wide[..., ::2], wide]
        for other in others:
            assert not made.fits([*given[:k], other, *given[k + 1:]])
    assert not made.fits(given[1:]) and not made.fits([*given, given[0]])
    assert made.fits(given)


def test_memory_is_given_back():
    made, given = program_of(lambda x: x[x[:, 0] > 0].exp() * 2 + x.mean(), 2000)
    assert made.fits(given)
    assert sum(a.nbytes for a in made.memory) >= 20_000
    before = memory.stats()["live"]
    for _ in range(1000):
        assert made.fits(given)
    assert memory.stats()["live"] == before


def test_a_step_of_training_goes_by_it(monkeypatch):
    counted, losses = Counted(monkeypatch), []
    for trace in (False, True):
        whet.manual_seed(0)
        rng = np.random.default_rng(5)
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
        optimizer = whet.optim.AdamW(model.parameters(), lr=1e-2)

        def step(x, y):
            keep = y >= 0
            out = nn.functional.cross_entropy(model(x)[keep], y[keep])
            optimizer.zero_grad()
            out.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            return out.item()
        run = whet.jit.trace(step) if trace else step
        found = []
        for _ in range(100):
            n = int(rng.integers(40, 60))
            found.append(run(rows(rng, n), whet.tensor(rng.integers(-1, 3, n))))
        losses.append(found)
    assert losses[0] == losses[1]
    assert counted.fitted >= 60


def test_without_machine_code_python_makes_the_programs(monkeypatch):
    monkeypatch.setattr(resized_program, "machine", lambda: None)
    rng, traced, counted = np.random.default_rng(1), whet.jit.trace(loss), Counted(monkeypatch)
    for _ in range(60):
        x = rows(rng, 60 + int(rng.integers(30)))
        assert bits(traced(x)) == bits(loss(x))
    assert counted.asked == 0 and counted.made >= 20
