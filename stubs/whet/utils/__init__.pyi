# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from whet.utils import data as data
from whet.utils import checkpoint as checkpoint
from whet.utils import hooks as hooks


