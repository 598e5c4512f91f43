# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.



class TraceError(RuntimeError):
    """The same with `strict=True`."""

class TraceWarning(UserWarning):
    """A traced function runs eagerly, and why."""
