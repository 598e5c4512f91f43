"""`python -m whet.jit.command_line` is the command `whet`."""

import sys

from .main import main

sys.exit(main())
