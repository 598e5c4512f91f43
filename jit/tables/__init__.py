"""The table of a recording: its guards and its actions as data, which machine code interprets in
order to replay a call without entering Python.

Input: a recording and the arguments of a call. Output: a table, or nothing where something can
only be compared in Python. The formats of the rows are in `machine_code/`.
"""
