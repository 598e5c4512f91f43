"""Settings of PyTorch's compiler that programs set. They are kept, and change nothing: there is one
way in which a function is recorded and compiled here."""
import contextlib
import types


class Settings(types.ModuleType):
    """A module of settings, as it may be imported.

    >>> import whet._dynamo
    >>> whet._dynamo.config.suppress_errors = True
    >>> with whet._dynamo.config.patch(suppress_errors=False):
    ...     whet._dynamo.config.suppress_errors
    False
    """

    def __init__(self, name, /, **settings):
        super().__init__(name, __doc__)
        vars(self).update(settings)

    @contextlib.contextmanager
    def patch(self, changes=None, /, **more):
        """Inside, settings have other values."""
        changes = {**({} if changes is None else dict([changes]) if isinstance(changes, tuple)
                      else changes), **more}
        before = {k: vars(self)[k] for k in changes if k in vars(self)}
        vars(self).update(changes)
        try:
            yield
        finally:
            for k in changes:
                vars(self).pop(k, None)
            vars(self).update(before)
