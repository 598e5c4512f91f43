# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.



class layout:
    """How a tensor's elements are held: `strided`, as those that are not zero, or as parts."""

class memory_format:
    """How the dimensions of a tensor follow each other in memory."""

class qscheme:
    """How integers stand for real numbers: by one scale, or by one for each place of an axis."""
