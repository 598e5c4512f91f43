"""What users can ask of traced functions: `explain()`, the page with the graph, and how much is
printed.

Input: recordings, and the reasons why other calls have none (`refusals/`).
Output: text, a table, a page.
"""
