# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from whet.dtypes import dtype

class LinearCrossEntropyOptions:
    def __init__(self, allow_retain_graph: bool = False, batch_chunk_size: int | None = None, chunking_method: str | None = 'auto', acc_policy: str = 'auto', acc_dtype: dtype | None = None) -> None: ...
