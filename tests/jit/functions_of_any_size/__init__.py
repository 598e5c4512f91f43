"""Functions of tensors whose sizes differ from call to call, as people write them.

`FUNCTIONS`: name -> (the function, what it takes for a size). Each is replayed for sizes that no
run had: see test_functions_of_any_size.py.
"""
from . import laws_and_factors, rows_and_images, sequences, writes_and_draws
from .common import FUNCTIONS

__all__ = [
    "FUNCTIONS", "laws_and_factors", "rows_and_images", "sequences", "writes_and_draws"]
