# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.



class TraceError(RuntimeError):
    """The reason why a traced function would run eagerly. `strict=True` raises it in place of a warning."""

class TraceWarning(UserWarning):
    """A traced function runs eagerly, and why."""
