"""python -m tests.traps [option=value ...]: the table, with options for the trace (verify=off).
With --peers: other tracers' table."""
import sys

if sys.argv[1:2] == ["--peers"]:
    from tests.traps.peers import main
    main(sys.argv[2:])
else:
    from tests.traps.harness import table
    sys.exit(table(**dict(a.split("=", 1) for a in sys.argv[1:])) > 0)
