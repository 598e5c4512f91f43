"""How many calls of a module several threads make in a second."""
import itertools
import threading
import time
from dataclasses import dataclass


@dataclass
class ExecutionStats:
    """What `ThroughputBenchmark.benchmark` measured. Threads share the iterations."""
    latency_avg_ms: float
    num_iters: int
    total_time_seconds: float
    num_calling_threads: int

    @property
    def iters_per_second(self):
        """How many calls all threads made in a second."""
        return self.num_iters / self.total_time_seconds

    def __str__(self):
        return (f"Average latency per example: {self.latency_avg_ms:.3f}ms\n"
                f"Total number of iterations: {self.num_iters}\n"
                f"Total number of iterations per second (across all threads): "
                f"{self.iters_per_second:.2f}\n"
                f"Total time: {self.total_time_seconds:.3f}s")


class ThroughputBenchmark:
    """A module that is called by several threads at once, with the inputs that were added, in
    turn.

    >>> import whet
    >>> bench = whet.utils.ThroughputBenchmark(whet.nn.Linear(2, 1))
    >>> bench.add_input(whet.ones(3, 2))
    >>> bench.run_once(whet.ones(3, 2)).shape
    whet.Size([3, 1])
    >>> bench.benchmark(num_calling_threads=2, num_warmup_iters=1, num_iters=20).num_iters
    20
    """

    def __init__(self, module):
        self.module, self.inputs = module, []

    def run_once(self, *args, **kwargs):
        """The module's result for an input."""
        return self.module(*args, **kwargs)

    def add_input(self, *args, **kwargs):
        """One more input that is called with."""
        self.inputs.append((args, kwargs))

    def benchmark(self, num_calling_threads=1, num_warmup_iters=10, num_iters=100,
                  profiler_output_path=""):
        """Call `num_iters` times, shared by the threads, after warmups of each thread."""
        if not self.inputs:
            raise ValueError("ThroughputBenchmark: add_input comes before benchmark")
        if profiler_output_path:
            from ..profiler import profile
            with profile() as profiled:
                stats = self.benchmark(num_calling_threads, num_warmup_iters, num_iters)
            profiled.export_chrome_trace(profiler_output_path)
            return stats
        rounds = itertools.count()
        begun: list = []
        ready = threading.Barrier(num_calling_threads, lambda: begun.append(time.perf_counter()))
        errors: list = []
        workers = [
            threading.Thread(target=self._call, args=(ready, rounds, num_warmup_iters, num_iters,
                                                      errors))
            for _ in range(num_calling_threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        seconds = time.perf_counter() - begun[0]
        if errors:
            raise errors[0]
        return ExecutionStats(1000 * seconds * num_calling_threads / num_iters, num_iters, seconds,
                              num_calling_threads)

    def _call(self, ready, rounds, num_warmup_iters, num_iters, errors):
        """What a thread does. `next` of a counter is one step, so no two threads get the same
        number."""
        try:
            for i in range(num_warmup_iters):
                args, kwargs = self.inputs[i % len(self.inputs)]
                self.module(*args, **kwargs)
        except Exception as error:
            errors.append(error)
        ready.wait()
        while not errors and (i := next(rounds)) < num_iters:
            args, kwargs = self.inputs[i % len(self.inputs)]
            try:
                self.module(*args, **kwargs)
            except Exception as error:
                errors.append(error)
