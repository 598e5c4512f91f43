"""What each op is in ONNX: functions that an op's definition names as its `onnx`.

A function is given a builder `b` (`onnx/write/builder.py`), which writes nodes, and the op's
operands; it gives the results' names in the file. Ops of one element have none: their expression is
written by `onnx/write/scalar_nodes.py`.
"""
