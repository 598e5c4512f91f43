"""A view's region in the gradient of its base, for in-place writes to views."""
from .parts import view_as_complex, view_as_real
from .registry import apply
from .strided import _block, as_strided_op, strided_sum_op


def region_of_copy(g, where):
    """(a copy of g, laid out as the base of a view was; the view's region of it). For gradients
    of in-place writes to views."""
    base, stride = where["base_shape"], where["base_stride"]
    size, offset = where["size"], where["offset"]
    before, n = _block(base, stride, size, where["stride"], offset)
    memory = g.new_empty(max(n, 0), dtype=g.dtype.to_real() if where["via"] == "real" else g.dtype)
    inner = apply(as_strided_op, (memory,),
                  {"size": base, "stride": stride, "offset": before, "base_stride": (1,)})
    region = apply(
        as_strided_op, (memory,),
        {"size": size, "stride": where["stride"], "offset": before + offset, "base_stride": (1,)})
    whole = view_as_complex(inner) if where["via"] == "real" else inner
    whole.copy_(g)
    return whole, view_as_complex(region) if where["via"] == "complex" else region


def with_region(g, where, part):
    """A tensor with another part (None: zeros) in a view's region, without writing in place:
    either may be of a batch that the other has not."""
    whole, region = region_of_copy(g, where)
    region.zero_()
    if part is None:
        return whole
    part = view_as_real(part) if where["via"] == "complex" else part
    alone = apply(
        strided_sum_op, (part,), {
            "shape": where["base_shape"], "size": where["size"], "stride": where["stride"],
            "offset": where["offset"], "base_stride": where["base_stride"]})
    return whole + (view_as_complex(alone) if where["via"] == "real" else alone)
