"""From a ModelProto to a plan of steps that whet runs.

Comes in: a graph with its initialisers, functions and subgraphs. Goes out: a `Plan`, in which names
are slots and nodes are steps. `operators/` defines what each operator does, a function each, whose
signature is the operator's. Gives up when an operator, an attribute or an input is not as ONNX has
it: all of a model's faults are listed together, before anything runs.
"""
