"""The machine code that replays calls, as Python sees it: how it is entered, where CPython keeps
what it reads, and the rows of numbers and objects that it is given.

Input: rows. Output: a table, which is one list of machine words with the objects that they point
to. The code itself is generated in `passes/lower_llvm/calls/`. What a recording's table contains is
decided in `tables/`.
"""
