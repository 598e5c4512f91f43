"""What compiling a kernel will take, by what the last ones took."""
import contextlib
import sys
import time

NEWEST = 0.1                     # weight of the last one
LOADING = 0.03                   # seconds that LLVM takes to come into a process


class Estimate:
    """The seconds that kernels of one sort take, of which nothing is known but a first guess."""
    __slots__ = ("usual",)

    def __init__(self, guess):
        self.usual = guess

    def of(self, kernels=1):
        """What the next kernels will take, about."""
        loading = LOADING if kernels and "llvmlite.binding" not in sys.modules else 0.0
        return loading + kernels * self.usual

    @contextlib.contextmanager
    def measured(self):
        """Inside, one is compiled."""
        loading, start = self.of() - self.usual, time.thread_time()
        yield
        took = time.thread_time() - start - loading
        self.usual += NEWEST * (max(took, 0.0) - self.usual)


lacking = Estimate(0.004)                # kernels that a recording waits for
better = Estimate(0.01)                  # those that were compiled in haste, compiled well
