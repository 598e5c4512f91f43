"""What a replay writes into Python's state, once everything has been computed."""
from __future__ import annotations

from typing import Any

from ..values.instance_state import contents_of
from .recipes import Recipe


class Left:
    """What a run left in Python's state. `effects`: spots and what is written to them, `growths`:
    lists and what is appended to them, `filled`: which containers among the arguments get other
    contents."""

    def __init__(self, effects: list[Any], growths: list[Any], filled: list[Any]):
        self.effects, self.growths, self.filled = effects, growths, filled
        self.recipes: list[Recipe] = [
            *(x for _, x in effects), *(x for _, grown in growths for x in grown),
            *(x for _, x in filled)]
        self.setters = [spot.setter() for spot, _ in effects]

    def __bool__(self) -> bool:
        return bool(self.recipes)

    def write(self, built: list[Any], boxes: Any) -> None:
        """Write what was built by `recipes`."""
        new = iter(built)
        for setter in self.setters:
            setter(next(new))
        for real, grown in self.growths:
            real.extend([next(new) for _ in grown])
        for i, _ in self.filled:
            box, contents = contents_of(boxes[i]), next(new)
            box.clear()
            box.extend(contents) if type(box) is list else box.update(contents)
