"""Estimates how long compiling a kernel will take, from recent compilations."""
import contextlib
import sys
import time

NEWEST = 0.1                     # weight of the last one
LOADING = 0.03                   # seconds that LLVM takes to come into a process


class Estimate:
    """The seconds per kernel of one sort; at first a guess. `pays_llvm`: is LLVM loaded for kernels
    of this sort, if it is not there?"""
    __slots__ = ("pays_llvm", "usual")

    def __init__(self, guess, pays_llvm=False):
        self.usual, self.pays_llvm = guess, pays_llvm

    def of(self, kernels=1):
        """The estimated seconds for the next kernels."""
        return kernels * self.usual + (_loading() if self.pays_llvm and kernels else 0.0)

    @contextlib.contextmanager
    def measured(self, kernels=1):
        """A context in which so many kernels are compiled; updates the estimate."""
        loading, start = _loading(), time.thread_time()
        yield
        took = time.thread_time() - start - loading
        for _ in range(kernels):
            self.usual += NEWEST * (max(took, 0.0) / kernels - self.usual)


def _loading():
    return 0.0 if "llvmlite.binding" in sys.modules else LOADING


# kernels that a recording waits for: eager mode, too, needs LLVM sooner or later
lacking = Estimate(0.004)
# those that were compiled in haste, compiled well: most processes can do without
better = Estimate(0.01, pays_llvm=True)
