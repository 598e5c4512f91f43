# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import NamedTuple
from whet.autograd.graph import Node
from whet.tensor import Tensor

class GradientEdge(NamedTuple):
    """A node and the number of one of its outputs."""
    node: Node
    output_nr: int
    ownership_token: Tensor
