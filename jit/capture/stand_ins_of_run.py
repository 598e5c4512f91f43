"""What stands in a run for objects that differ between calls, one class for each kind."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..stand_ins.number_stand_ins import NumberStandIns
from ..stand_ins.outside_draws import OutsideDraws
from ..values.varying_texts import Texts
from .numpy_arrays import Arrays
from .random_streams import Streams

if TYPE_CHECKING:
    from .recorder import Recorder


class StandIns:
    """`numbers`: Python's numbers. `texts`: those in which such numbers were formatted. `arrays`:
    NumPy arrays. `streams`: generators of whet. `draws`: what generators of Python and NumPy
    gave."""

    def __init__(self, rec: Recorder) -> None:
        self.numbers, self.texts, self.arrays = NumberStandIns(), Texts(), Arrays(rec)
        self.streams, self.draws = Streams(), OutsideDraws()
