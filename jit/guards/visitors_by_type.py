"""Which visitor visits an object, by its type, on the walk over what a function can reach."""
from ..values.code_origin import HEAP
from .visitors import Visit
from .visitors_of_callables import CALLABLES
from .visitors_of_containers import CONTAINERS
from .visitors_of_objects import LIGHT, OBJECTS

VISITORS = [*LIGHT.all, *CONTAINERS.all, *CALLABLES.all, *OBJECTS.all]
UNSEEN = frozenset(visit for _, visit in LIGHT.all)      # what they visit is not remembered
OF_LASTING_TYPES: dict[type, Visit] = {}         # of types that no class statement has made


def visitor_for(t: type) -> Visit:
    """What visits objects of a type."""
    visitor = next(visit for fits, visit in VISITORS if fits(t))
    if not t.__flags__ & HEAP:
        OF_LASTING_TYPES[t] = visitor
    return visitor
