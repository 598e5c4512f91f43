"""Members of enums, which are numbers or none, beside what varies."""
import enum

from tests.traps.harness import Box, ramp, trap


class Mode(enum.IntEnum):
    """Numbers with names."""
    ADD, SCALE = 0, 1
    def gain(self): return self + 1.5


class Kind(enum.Enum):
    """Names alone."""
    A, B = "a", "b"


@trap
def members_beside_a_counter():
    """By `is`, ==, match and as a number; a method of the class is patched."""
    box = Box(n=0, kind=Kind.A)
    def f(x, mode):
        box.n += 1
        y = x * box.n if mode is Mode.SCALE else x + box.n
        if box.kind is Kind.A and mode == Mode.SCALE:
            y = y * mode.gain()
        match mode:
            case Mode.ADD: y = y - 1
        return y
    def calls(f):
        for i in range(8):
            yield f(ramp(2), Mode(i % 2)), box.n
        box.kind = Kind.B
        for i in range(4):
            yield f(ramp(2), Mode(i % 2)), box.n
        before, Mode.gain, box.kind = Mode.gain, lambda self: 7.0, Kind.A
        try:
            for i in range(4):
                yield f(ramp(2), Mode(i % 2)), box.n
        finally:
            Mode.gain = before
    return f, calls


@trap
def a_number_that_is_compared_with_members():
    """A number is no member, whatever equals it; a member comes out of a number."""
    box = Box(n=0)
    def f(x, k):
        box.n += 1
        return (x * box.n + (k is Mode.SCALE), box.n == Mode.SCALE, box.n is Mode.SCALE,
                Mode(k % 2) is Mode.SCALE, Mode(box.n % 2).name)
    def calls(f):
        for k in (0, 1, Mode.SCALE, Mode.ADD, 1, 1, Mode.SCALE, 0, 0, 1):
            yield f(ramp(2), k), box.n
    return f, calls


for _how in ("__str__", "__repr__", "__format__", "__new__"):
    def _asked(how):
        def build():
            """A function that the class has from its bases is called by its name."""
            box = Box(n=0)
            def f(x, mode):
                box.n += 1
                by = getattr(Mode, how)
                found = by(Mode, 1) if how == "__new__" else by(mode, *[""] * (how == "__format__"))
                return x * box.n, str(found)
            def by_number(x, mode):
                box.n += 1
                try:
                    return x * box.n, getattr(Mode, how)(box.n, *[""] * (how == "__format__"))
                except Exception as e:
                    return x + box.n, type(e)
            def calls(f):
                for i in range(6):
                    yield f(ramp(2), Mode(i % 2)), box.n
            return (f if how == "__new__" else by_number), calls
        return build
    _build = _asked(_how)
    _build.__name__ = f"a_member_is_asked_by{_how.rstrip('_')}"
    trap(_build)


@trap
def enums_in_a_trainer_with_more_methods():
    """What its other methods do does not matter: they open files and name the counter."""
    class Trainer:
        def __init__(self): self.kind, self.mode, self.n = Kind.A, Mode.ADD, 0
        def step(self, x):
            self.n += 1
            return x * self.n if self.kind is Kind.A else x - self.mode
        def save(self):
            with open(f"step{self.n.bit_length()}.txt", "w") as file:
                file.write(str(self.n.__index__()))
    trainer = Trainer()
    def calls(f):
        for _ in range(6):
            yield f(ramp(2)), trainer.n
        trainer.kind = Kind.B
        for _ in range(4):
            yield f(ramp(2)), trainer.n
        trainer.mode = Mode.SCALE
        for _ in range(4):
            yield f(ramp(2)), trainer.n
    return trainer.step, calls
