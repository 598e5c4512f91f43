"""The machine code that replays calls, from Python's side. How is it entered? Where does CPython
keep what it reads? Which rows of numbers and objects is it given?

Input: rows. Output: a table, which is one list of machine words with the objects that they point
to. The code itself is generated in `passes/lower_llvm/calls/`. What a recording's table contains is
decided in `tables/`.
"""
