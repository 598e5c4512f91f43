"""Convolutions and pools.

`runtime/cpu/conv_plan.py` chooses the kernel of a convolution by its shape. But for Winograd's, all
of them add up in one order, so the choice changes no bit:

    conv.py               the usual one: pixels are gathered into panels, then it is a product
    few_channels.py       pixels are read where they lie
    reordered_weights.py  output channels side by side, of weights that were put in order before
    winograd.py           3x3 taps with stride 1, where it pays
    depthwise*.py         one channel a group

`pool.py` has planes in the lanes of a vector, `pool_rows.py` neighbouring outputs. The parts that
they share are in `window_tiles.py` (geometry, the register tile), `window_call.py`, `epilogue.py`
and `output_lanes.py`.
"""
