"""Graphs become ONNX files.

What an op is in ONNX is said where the op is defined, in its `onnx`. Here is what is common to all:
the builder that writes nodes (`builder.py`), scalar expressions and row programs as nodes
(`scalar_nodes.py`, `row_nodes.py`), memory that is seen through views and written in place
(`memory.py`), the walk over a graph (`translate.py`), and the file (`model_file.py`).
"""
