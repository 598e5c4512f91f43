"""python -m tests.traps [option=value ...]: the table, with options for the trace (verify=off)."""
import sys

from tests.traps.harness import table

sys.exit(table(**dict(a.split("=", 1) for a in sys.argv[1:])) > 0)
