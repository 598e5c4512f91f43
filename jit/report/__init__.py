"""Everything that users are told: reasons and names in their own terms, `explain()`, the page with
the graph, levels of verbosity.

Comes in: recordings, and the reasons why others are none.
Goes out: text, a table, a page.
"""
