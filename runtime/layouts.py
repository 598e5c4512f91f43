"""How the elements of tensors are held, and how dimensions follow each other in memory."""


class _Named:
    __slots__ = ("_repr",)

    def __init__(self, text):
        self._repr = text

    def __repr__(self):
        return self._repr

    def __reduce__(self):
        return self._repr.partition(".")[2]


class layout(_Named):
    """How a tensor's elements are held: `strided`, as those that are not zero, or as parts.

    >>> import whet
    >>> whet.eye(2).layout, whet.eye(2).to_sparse().layout
    (whet.strided, whet.sparse_coo)
    """
    __slots__ = ()


class memory_format(_Named):
    """How the dimensions of a tensor follow each other in memory.

    >>> import whet
    >>> whet.zeros(1, 3, 2, 2).to(memory_format=whet.channels_last).stride()
    (12, 1, 6, 3)
    """
    __slots__ = ()


class qscheme(_Named):
    """How integers stand for real numbers: by one scale, or by one for each place of an axis.

    >>> import whet
    >>> whet.quantize_per_tensor(whet.ones(2), 0.5, 0, whet.qint8).qscheme()
    whet.per_tensor_affine
    """
    __slots__ = ()


per_tensor_affine, per_channel_affine, per_tensor_symmetric, per_channel_symmetric = (
    qscheme(f"whet.{name}") for name in ("per_tensor_affine", "per_channel_affine",
                                         "per_tensor_symmetric", "per_channel_symmetric"))
strided, jagged = layout("whet.strided"), layout("whet.jagged")
sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = (
    layout(f"whet.sparse_{kind}") for kind in ("coo", "csr", "csc", "bsr", "bsc"))
# the parts of sparse tensors, and of which layouts they are
PARTS = {
    **dict.fromkeys(("coalesce", "indices", "is_coalesced"), "sparse coordinate"),
    **dict.fromkeys(("crow_indices", "col_indices"), "sparse row compressed"),
    **dict.fromkeys(("ccol_indices", "row_indices"), "sparse column compressed"),
    "values": "sparse"}
contiguous_format, preserve_format, channels_last, channels_last_3d = (
    memory_format(f"whet.{name}") for name in (
        "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"))


def no_such_part(name, layout):
    """The error of a part that tensors of a layout do not have."""
    return RuntimeError(f"{name} expected {PARTS[name]} tensor layout but got {layout}")
