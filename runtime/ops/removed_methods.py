"""Methods that PyTorch has only to say what to write instead, or for kinds of devices that whet has
none of: they raise the errors that PyTorch raises."""
import warnings

from .. import devices
from .surface import METHODS

# method -> what to write instead
REMOVED = {
    "eig": "`whet.linalg.eig(A)`, or `whet.linalg.eigvals(A)`, whose results are complex",
    "lstsq": "`whet.linalg.lstsq(A, B)`, which takes the matrix first",
    "solve": "`whet.linalg.solve(A, B)`, which takes the matrix first",
    "symeig": "`whet.linalg.eigh(A, UPLO)`, or `whet.linalg.eigvalsh`, which read the lower "
              "triangle where nothing else is said",
    "reinforce": "`whet.distributions`: `loss = -m.log_prob(m.sample()) * reward`",
}


def _removed(name, instead):
    def gone(self, *args, **kwargs):
        raise RuntimeError(f"{name}(): this function was deprecated and is now removed. Use "
                           f"{instead}.")
    gone.__name__ = gone.__qualname__ = name
    gone.__doc__ = f"An error, as in PyTorch, which removed it. Use {instead}."
    return gone


METHODS.update({name: _removed(name, instead) for name, instead in REMOVED.items()})


def _to_absent(kind):
    def move(self, device=None, non_blocking=False, memory_format=None):
        devices.device(kind)                  # raises what `to` raises
        raise AssertionError(f"devices of {kind} became known, and have no move")
    move.__name__ = move.__qualname__ = kind
    move.__doc__ = f"An error: there are no devices of {kind} here."
    return move


METHODS.update({kind: _to_absent(kind) for kind in ("ipu", "mtia", "xpu")})


def _volatile(self):
    """False: PyTorch removed it, and so says a warning. See `whet.no_grad`."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=3)
    return False


def _set_volatile(self, value):
    warnings.warn("volatile was removed. Use `with whet.no_grad():` instead.", stacklevel=3)


METHODS["volatile"] = property(_volatile, _set_volatile)
