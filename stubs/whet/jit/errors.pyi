# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.



class TraceError(RuntimeError):
    """A traced function would run eagerly, and why: what `strict=True` raises in the place of a warning."""

class TraceWarning(UserWarning):
    """A traced function runs eagerly, and why."""
