# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from whet.signal import windows as windows


