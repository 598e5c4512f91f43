"""Graphs, which say what was recorded, and kernels, which say what is computed: data that knows
nothing of tensors.

Graphs of recorded runs: `nodes.py` and `groups.py` have a class for each kind of node, `values.py`
what is known of a value, `graph.py` puts them together. `text.py` and `parse.py` write and read
them, `verify.py` checks them, `interpret.py` says what they mean.

Kernels: `scalar.py` is the language of one element, over the primitives of `primitives.py`;
`kernel.py` says how expressions are walked over elements, `rows.py` how over rows.

Sizes that are not known: `symbolic_size.py` has numbers that note what is done with them,
`size_conditions.py` what was asked of them, `outline.py` arrays without memory of such sizes.

Pictures of graphs: `drawing.py`, which puts boxes where `drawing_layout.py` says.
"""

