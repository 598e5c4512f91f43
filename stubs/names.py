"""What is public: the modules, the names in them, and the modules that their classes are defined
in."""
import importlib
import inspect
from dataclasses import dataclass, field

PUBLIC = """
    whet whet.types whet.return_types whet.random whet.linalg whet.fft whet.special whet.func
    whet.amp whet.array_api whet.testing whet.cuda whet.accelerator whet.compiler whet.autograd
    whet.autograd.forward_ad whet.autograd.functional whet.autograd.graph whet.nn whet.nn.functional
    whet.nn.init whet.nn.parameter whet.nn.utils whet.nn.utils.rnn whet.nn.utils.parametrize
    whet.nn.utils.parametrizations whet.nn.utils.prune whet.nn.utils.stateless whet.nn.parallel
    whet.optim whet.optim.lr_scheduler whet.optim.swa_utils whet.utils whet.utils.data
    whet.utils.checkpoint whet.utils.hooks whet.distributions whet.distributions.constraints
    whet.distributions.constraint_registry whet.distributions.utils
    whet.jit whet.signal whet.signal.windows""".split()
# parts that are no modules of their own, or have no stub
PARTS = {
    "whet": ("linalg", "fft", "special", "func", "amp", "array_api", "testing", "cuda",
             "accelerator", "compiler", "autograd", "nn", "optim", "utils", "distributions", "jit",
             "random", "types", "return_types", "backends", "signal"),
    "whet.nn": ("functional", "init", "parameter", "utils", "parallel"),
    "whet.nn.utils": ("rnn", "parametrize", "parametrizations", "prune", "stateless"),
    "whet.signal": ("windows",),
    "whet.optim": ("lr_scheduler", "swa_utils"), "whet.utils": ("data", "checkpoint", "hooks"),
    "whet.autograd": ("forward_ad", "functional", "graph"),
    "whet.distributions": ("constraints", "constraint_registry", "utils")}
# helpers that have no underscore
HIDDEN = {
    "whet": ("dtypes", "devices", "size_arguments", "strided_memory", "tensor_base"),
    "whet.nn.init": ("fans", "linear_"),
    "whet.jit": ("Final",),
    "whet.nn": ("Layer", "layer"),
    "whet.utils.checkpoint": ("contextlib",),
    "whet.utils.hooks": ("Hooks",)}


@dataclass
class Room:
    """A module as its stub shows it."""
    name: str
    shown: dict = field(default_factory=dict)               # name -> object: what the module offers
    # name -> class: those that are defined here
    classes: dict = field(default_factory=dict)

    @property
    def short(self):
        """`nn.functional` of `whet.nn.functional`."""
        return self.name.partition(".")[2]


def is_ours(x):
    return str(getattr(x, "__module__", "")).partition(".")[0] == "whet"


def offered(name):
    """The public names of a module and what they stand for."""
    module = importlib.import_module(name)
    names = list(getattr(module, "__all__", None) or dir(module))
    if name == "whet":
        from whet.legacy_tensor_types import TYPES
        from whet.ops.storage_kinds import STORAGES
        names += [*module._FROM, *TYPES, *STORAGES]
    found = {}
    for n in sorted(set(names)):
        if (n.startswith("_") and not n.startswith("__array") or n in HIDDEN.get(name, ())
                or n in PARTS.get(name, ())):
            continue
        x = getattr(module, n)
        if inspect.ismodule(x):
            continue
        defined = isinstance(x, type) or inspect.isroutine(x)
        everything = (hasattr(module, "__all__") or hasattr(module, "__path__")
                      or name in ("whet.special", "whet.types"))
        if not defined or is_ours(x) and (everything or x.__module__ == name):
            found[n] = x
    return found


def rooms():
    """Every module that gets a stub, by its name."""
    found = {name: Room(name, offered(name)) for name in PUBLIC}
    for room in list(found.values()):
        for x in room.shown.values():
            if isinstance(x, type) and is_ours(x):
                # tuples with names live together
                named = room.name == "whet.return_types"
                home = room if named else found.setdefault(x.__module__, Room(x.__module__))
                home.classes[x.__name__] = x
    return dict(sorted(found.items()))
