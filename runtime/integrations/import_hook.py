"""Calls a function when a module of another package has been imported."""
import importlib.util
import sys


def after_import(name, then):
    """Call then(module) once the module of this name is imported: now, if it is already."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, ImportHook(name, then))


class ImportHook:
    """A finder for `sys.meta_path`. It finds one module as the finders after it do, and adds a call
    to what the module's loader does."""

    def __init__(self, name, then):
        self.name, self.then = name, then

    def find_spec(self, name, path, target=None):
        if name != self.name:
            return None
        if self in sys.meta_path:            # another thread may import it, too
            sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            self.extend(spec.loader)
        return spec

    def extend(self, loader):
        """Let this loader call `then` after it has run a module's code."""
        run = loader.exec_module

        def exec_module(module):
            run(module)
            self.then(module)
        loader.exec_module = exec_module
