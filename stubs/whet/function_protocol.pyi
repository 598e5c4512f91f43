# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.



class DisableTorchFunctionSubclass:
    """Inside, overrides of tensors are not called."""

class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Inside, overrides are not called: neither those of tensors nor those of modes."""
