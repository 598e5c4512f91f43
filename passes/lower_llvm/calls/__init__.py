"""Machine code that is no kernel: calls of ops and of traced functions, lists of launches,
threads.

    op_*.py            an op's call by its recipe: `op_calls.py` tells the whole, the others are its
                       phases, in order `op_operands`, `op_replay`, `op_launch`, `op_history`
    traced_*.py        a traced function's call: `traced_calls.py` tells the whole, `traced_entry`
                       tries one block of guards, launches and steps that build the result
    launch_list.py     a list of launches, run in one go; repeated and shared out by its neighbours
    size_*.py          words of a recipe or block that are expressions of sizes
    *_layouts.py       where the fields lie that this code and Python both read and write

In all of them `f` is the function that is written and `g` a `Glue` (`object_access.py`): access to
the fields of Python's objects and ours. "Leaves for" a label means a jump to where Python is asked.
"""
