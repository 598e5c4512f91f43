# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.



class LinAlgError(RuntimeError):
    """A matrix without what was asked of it: singular, not positive definite, no convergence."""
