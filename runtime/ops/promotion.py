"""In which type a pointwise op computes, given the types of its operands."""
import enum

from .. import dtypes
from ..dtypes import BOOL, FLOAT


class Promotion(enum.Enum):
    """The rule by which an op promotes its operands, by the name that op statements use."""
    COMMON = "default"          # to their common type
    FLOAT = "float"             # to that, but integers to the default float
    INT = "int"                 # to that, but bools to int64
    NONE = "none"               # not at all: each operand keeps its type

    def of(self, common):
        """The type in which an op computes whose operands have this common type."""
        if self is Promotion.FLOAT and common.category < FLOAT:
            return dtypes.get_default_dtype()
        if self is Promotion.INT and common.category == BOOL:
            return dtypes.int64
        return common
