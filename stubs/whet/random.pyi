# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Self
from whet.devices import device as _device
from whet.tensor import Tensor
from whet.types import Device


default_generator: Generator
def get_rng_state() -> Tensor: """The default generator's position."""
def initial_seed() -> int: """The default generator's seed."""
def manual_seed(seed: int) -> Generator: """Seed the default generator."""
def seed() -> int: """Seed the default generator from the system; returns the seed."""
def set_rng_state(new_state: Tensor) -> None: """Set the default generator's position."""
def thread_safe_generator() -> Generator | None: ...

class Generator:
    """A stream of random numbers."""
    def __init__(self, device: Device = 'cpu') -> None: ...
    def clone_state(self) -> Generator: """A second generator at the same position."""
    @property
    def device(self) -> _device: ...
    def get_state(self) -> Tensor: """The position as a tensor of bytes."""
    def initial_seed(self) -> int: """The seed of the stream."""
    def manual_seed(self, seed: int) -> Generator: """Start the stream of `seed` from its beginning."""
    def seed(self) -> int: """Start a stream that is not used yet; returns its seed."""
    def set_state(self, state: Tensor) -> Self: """Go to a position that `get_state` gave."""

class fork_rng:
    """Leave the default generator, which draws for all devices, as it was, whatever happens inside."""
    enabled: bool
    def __init__(self, devices: Any = None, enabled: bool = True, _caller: str = 'fork_rng', _devices_kw: str = 'devices', device_type: str = 'cuda') -> None: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *exc: object) -> None: ...
