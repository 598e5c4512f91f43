"""Kernels over rows of elements: reductions, norms, softmax, running sums, sorting.

A row program (`ir/rows.py`) has a generator for each way that its rows lie, with the same bits:

    contiguous.py      elements of a row side by side, in vectors
    short.py           the same for short rows: a group of them goes through each walk together
    strided_rows.py    neighbours in memory belong to different rows: a vector has one of each
                       (`column_panel.py` has the walks over a panel of such rows)
    narrow.py          rows of a few elements

`row_kernel.py` has the plan of the walks and what these generators share. `rows_in_pieces.py` lets
`contiguous.py` read rows that are spread over memory. `lanes.py` and `column_sums.py` have the
canonical order of sums, `combine_spans.py` puts together what threads made of one row. Running sums
are in `scan.py`; the other files sort, select, search and count.
"""
