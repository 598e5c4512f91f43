"""Writes by index and in other types, what data counts, slopes, and random numbers."""
import whet as T
import whet.nn.functional as F

from .common import images, rows, takes


# ---- writes --------------------------------------------------------------------------------------
@takes(rows)
def some_rows(x):
    y = x.clone()
    y[T.tensor([0, 2])] = 5.0
    return y


@takes(rows)
def largest_of_each(x):
    y = x.clone()
    y[T.arange(len(x)), x.argmax(1)] = 0.0
    return y


@takes(rows)
def added_to_rows(x):
    return x.clone().index_put_((T.tensor([0, 0, 1]),), T.ones(8), accumulate=True)


@takes(rows)
def one_hot_by_scatter(x):
    return T.zeros(len(x), 9).scatter_(1, x[:, :1].abs().long() % 9, 1.0)


@takes(rows)
def rows_but_the_first(x):
    y = x.clone()
    y[1:].scatter_(1, T.zeros(1, 1, dtype=T.int64), 9.0)
    return y * 2


@takes(rows)
def filled_rows(x):
    return x.clone().index_fill_(0, T.tensor([0, 2]), 3.0)


@takes(rows)
def twice_where_positive(x):
    return x.masked_scatter(x > 0, x[x > 0] * 2)


@takes(rows)
def wider_in_place(x):
    return x.sum(0).mul_(T.tensor(2.5, dtype=T.float64)) + x


@takes(rows)
def one_number_in_place(x):
    return x.sum().mul_(T.tensor(0.1, dtype=T.float64)) + x


@takes(rows)
def compared_in_place(x):
    return x.clone().lt_(0.0)


@takes(rows)
def onto_the_diagonal(x):
    return T.diagonal_scatter(x @ x.T, x[:, 0])


@takes(images)
def unpooled(x):
    values, places = F.max_pool2d(x, 2, return_indices=True)
    return F.max_unpool2d(values, places, 2, output_size=x.shape[2:])


# ---- counts, and slopes --------------------------------------------------------------------------
@takes(rows)
def places(x):
    return (x > 0).nonzero()


@takes(rows)
def distinct(x):
    return x.round().unique()


@takes(rows)
def steps(x):
    return x.diff(dim=0)


@takes(rows)
def area(x):
    return T.trapezoid(x, dim=0)


@takes(rows)
def slopes(x):
    return T.gradient(x, edge_order=2, dim=0)[0]


# ---- random numbers ------------------------------------------------------------------------------
@takes(rows)
def gumbel(x):
    return F.gumbel_softmax(x)


@takes(rows)
def into_new_memory(x):
    return x + T.empty_like(x).exponential_()


@takes(rows)
def counts_drawn(x):
    return T.poisson(x.abs())
