"""The random numbers of devices, under PyTorch's names: one generator draws for all of them."""
from __future__ import annotations

from typing import Any

from . import device_state


def manual_seed(seed: int) -> None:
    """Seed the generator of random numbers.

    Numbers for devices are drawn by the one default generator, so that a program gives the same
    ones on every device. It may be called where there is no device: then nothing happens.

    >>> import whet
    >>> whet.cuda.manual_seed(1)
    >>> a = whet.rand(2, device="cuda")
    >>> whet.cuda.manual_seed(1)
    >>> whet.equal(a, whet.rand(2, device="cuda"))
    True
    """
    seed = int(seed)
    if device_state.is_available():
        from .. import random
        random.manual_seed(seed)


manual_seed_all = manual_seed


def seed() -> int:
    """Seed the generator with a number from the system; that number.

    >>> import whet
    >>> whet.cuda.seed() == whet.cuda.initial_seed()
    True
    """
    from .. import random
    return random.seed()


seed_all = seed


def initial_seed() -> int:
    """The number that the generator was seeded with.

    >>> import whet
    >>> whet.cuda.manual_seed(3)
    >>> whet.cuda.initial_seed()
    3
    """
    from .. import random
    return random.initial_seed()


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of the one generator, which draws for all devices.

    >>> import whet
    >>> state = whet.cuda.get_rng_state()
    >>> a = whet.rand(2, device="cuda")
    >>> whet.cuda.set_rng_state(state)
    >>> whet.equal(a, whet.rand(2, device="cuda"))
    True
    """
    from .. import random
    return random.get_rng_state()


def get_rng_state_all() -> list[Any]:
    """The state of the one generator, once for each device.

    >>> import whet
    >>> len(whet.cuda.get_rng_state_all()) == whet.cuda.device_count()
    True
    """
    return [get_rng_state() for _ in range(device_state.count())]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Continue the one generator from such a state.

    >>> import whet
    >>> state = whet.cuda.get_rng_state()
    >>> x = whet.rand(2, device="cuda")
    >>> whet.cuda.set_rng_state(state)
    >>> whet.equal(whet.rand(2, device="cuda"), x)
    True
    """
    from .. import random
    random.set_rng_state(new_state)


def set_rng_state_all(new_states: Any) -> None:
    """Continue the one generator from the state for the last of the devices.

    >>> import whet
    >>> states = whet.cuda.get_rng_state_all()
    >>> whet.cuda.set_rng_state_all(states)
    """
    for state in new_states:
        set_rng_state(state)
