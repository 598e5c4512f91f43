"""Which modules run now, forward or backward."""
import weakref

from ..autograd import modes
from ..autograd.graph import register_multi_grad_hook
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ..tensor import Tensor
from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Inside, `parents` has the names of the modules that run now, or whose backward does; "Global"
    is always among them. A name begins with the class of the outermost module that was called.

    >>> import whet
    >>> from whet.utils.module_tracker import ModuleTracker
    >>> inner = whet.nn.Linear(2, 2)
    >>> model = whet.nn.Sequential(inner, whet.nn.ReLU())
    >>> with ModuleTracker() as tracker:
    ...     handle = inner.register_forward_pre_hook(lambda *_: print(sorted(tracker.parents)))
    ...     _ = model(whet.ones(1, 2))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self):
        self._running, self._walk = {"Global"}, _no_walk
        self._names: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._handles: list = []

    @property
    def parents(self):
        """The names of the modules that run now."""
        if self._walk is not _no_walk and self._walk() is None:
            # gradients of inputs that want none do not tell when a module's backward has ended
            self._running, self._walk = {"Global"}, _no_walk
        return self._running

    @property
    def is_bw(self):
        """Does a backward run?"""
        return modes.state.walk is not None

    def _name(self, module):
        name = self._names.setdefault(module, type(module).__name__)
        for own, child in module.named_children():
            if child not in self._names:
                self._names[child] = f"{name}.{own}"
                self._name(child)
        return name

    def _enter(self, name):
        self.parents.add(name)

    def _enter_backward(self, name):
        parents = self.parents
        self._walk = weakref.ref(modes.state.walk)
        parents.add(name)

    def _leave(self, name):
        self.parents.discard(name)

    def _at_gradients(self, values, call, name):
        """Call a function once the gradients of all tensors among some values are known."""
        tensors = [t for t in tree_leaves(values) if isinstance(t, Tensor) and t.requires_grad]
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, lambda _: call(name)))

    def _before(self, module, inputs):
        name = self._name(module)
        self._enter(name)
        self._at_gradients(inputs, self._leave, name)

    def _after(self, module, inputs, output):
        name = self._name(module)
        self._leave(name)
        self._at_gradients(output, self._enter_backward, name)

    def __enter__(self):
        self._handles += [register_module_forward_pre_hook(self._before),
                          register_module_forward_hook(self._after)]
        return self

    def __exit__(self, *exc):
        for handle in self._handles:
            handle.remove()
        self._handles.clear()


def _no_walk():
    return None
