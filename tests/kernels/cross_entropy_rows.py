"""Row programs with class indices: operands that are whole numbers, and the position in the row."""
from whet.ir import rows as R
from whet.ir import scalar as sc
from whet.ir.row_programs import Writer, program


@program
def cross_entropy(w: Writer, smooth: bool = False) -> None:
    """x, class (row, i64), [smoothing, n] -> row: the loss of each row, row: logsumexp(x) for
    the backward"""
    x, t, i = w.full(), w.operand(R.Extent.ROW, "i64"), w.operand(R.Extent.POSITION, "i64")
    numbers = (w.number(), w.number()) if smooth else None
    m = w.reduce("max", x)
    s = w.reduce("sum", sc.exp(x - m))
    picked = w.reduce("sum", sc.where(sc.eq(i, t), x, 0))
    lse = m + sc.log(s)
    loss = lse - picked
    if numbers is not None:
        smoothing, n = numbers
        loss = (1 - smoothing) * loss + smoothing * (lse - w.reduce("sum", x) / n)
    w.store_row(loss, w.dtype)
    w.store_row(lse)


@program
def cross_entropy_backward(w: Writer, smooth: bool = False) -> None:
    """g (row), x, class (row, i64), logsumexp(x) (row), [smoothing, n] -> the gradient of x"""
    g, x, t, lse, i = (w.operand(R.Extent.ROW), w.full(), w.operand(R.Extent.ROW, "i64"), w.row(),
                       w.operand(R.Extent.POSITION, "i64"))
    p = sc.exp(x - lse)
    if smooth:
        smoothing, n = w.number(), w.number()
        w.store(g * (p - sc.where(sc.eq(i, t), 1 - smoothing + smoothing / n, smoothing / n)))
    else:
        w.store(g * (p - sc.where(sc.eq(i, t), 1, 0)))
