"""Graphs become ONNX files.

What an op is in ONNX is said where the op is defined, in its `onnx`. Here is what is common to all.
`translate.py` walks over a graph, and `builder.py` writes nodes. `scalar_nodes.py` and
`row_nodes.py` make nodes of scalar expressions and row programs. `memory.py` follows memory that is
seen through views and written in place. `model_file.py` writes the file.
"""
