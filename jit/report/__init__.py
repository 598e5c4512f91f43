"""Everything that users are told: reasons and names in their own terms, `explain()`, the page with
the graph, levels of verbosity.

Input: recordings, and the reasons why others are none.
Output: text, a table, a page.
"""
