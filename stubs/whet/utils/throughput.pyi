# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.nn.module import Module

class ThroughputBenchmark:
    """A module that is called by several threads at once, with the inputs that were added, in turn."""
    module: Module
    def __init__(self, module: Module) -> None: ...
    def add_input(self, *args: Any, **kwargs: Any) -> None: """One more input that is called with."""
    def benchmark(self, num_calling_threads: int = 1, num_warmup_iters: int = 10, num_iters: int = 100, profiler_output_path: str = '') -> Any: """Call `num_iters` times, shared by the threads, after warmups of each thread."""
    def run_once(self, *args: Any, **kwargs: Any) -> Any: """The module's result for an input."""
