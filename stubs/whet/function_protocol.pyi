# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.



class DisableTorchFunctionSubclass:
    """Inside, tensors have no say in what functions are."""

class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Inside, neither tensors nor modes have a say."""
