"""`.data` of buffers and parameters, to which what carries gradients is written: averages of
codebooks, centres, statistics of one's own."""
import whet
import whet.nn.functional as F
from whet import nn, optim

from tests.traps.harness import Box, leaf, outcome, ramp, shares, trap


@trap
def a_codebook_is_an_average():
    """A quantiser of vectors as it is published: sums with a history go into `.data`."""
    class Quantize(nn.Module):
        def __init__(self, dim=3, n=4, decay=0.75):
            super().__init__()
            self.n, self.decay = n, decay
            embed = whet.randn(dim, n)
            self.register_buffer("embed", embed)
            self.register_buffer("cluster_size", whet.zeros(n))
            self.register_buffer("embed_avg", embed.clone())

        def forward(self, x):
            dist = x.pow(2).sum(1, keepdim=True) - 2 * x @ self.embed + self.embed.pow(2).sum(0)
            _, ind = (-dist).max(1)
            chosen = F.one_hot(ind, self.n).type(x.dtype)
            quantize = F.embedding(ind, self.embed.transpose(0, 1))
            if self.training:
                self.cluster_size.data.mul_(self.decay).add_(chosen.sum(0), alpha=1 - self.decay)
                self.embed_avg.data.mul_(self.decay).add_(x.transpose(0, 1) @ chosen,
                                                          alpha=1 - self.decay)
                n = self.cluster_size.sum()
                size = (self.cluster_size + 1e-5) / (n + self.n * 1e-5) * n
                self.embed.data.copy_(self.embed_avg / size.unsqueeze(0))
            diff = (quantize.detach() - x).pow(2).mean()
            return x + (quantize - x).detach(), diff, ind
    model, book = nn.Linear(2, 3), Quantize()
    opt = optim.Adam(model.parameters(), lr=0.01)
    def f(x):
        q, diff, ind = book(model(x))
        loss = q.square().mean() + 0.25 * diff
        opt.zero_grad(), loss.backward(), opt.step()
        return loss, ind
    def calls(f):
        for i in range(12):
            if i == 8:
                book.eval()
            if i == 10:
                book.train()
                book.embed_avg.fill_(1)
            yield f(whet.randn(5, 2)), dict(book.state_dict()), dict(model.state_dict()), \
                [b.requires_grad for b in book.buffers()]
    return f, calls


@trap
def what_is_written_to_data_leads_back():
    """The tensor that `.data` gave is gone on with: its history leads to the writes' operands,
    inside and outside of the call; the buffer has none."""
    buffer, w = whet.ones(3), leaf(3)
    o = Box(way=0)
    def f(x):
        d = buffer.data
        y = (w * x).tanh()
        d.mul_(0.5).add_(y)
        if o.way == 0:
            return y.sum() + buffer.sum()
        if o.way == 1:
            return (d * 2).sum(), d.requires_grad, buffer.requires_grad
        if o.way == 2:
            return d, y
        if o.way == 3:
            d.sum().backward()
            return w.grad.clone(), d.is_leaf
        if o.way == 4:
            part = buffer.data[1:]
            part.mul_(y[1:])
            return part, part.is_leaf
        return buffer.data.add_(y) * buffer, whet.is_tensor(d)
    def calls(f):
        for way in range(6):
            o.way = way
            for i in range(5):
                w.grad = None
                out = f(ramp(3) * (0.1 + i / 10))
                parts = [t for t in (out if isinstance(out, tuple) else (out,))
                         if isinstance(t, whet.Tensor) and t.requires_grad]
                for t in parts:
                    outcome(lambda: t.sum().backward(retain_graph=True))
                yield out, buffer, w.grad, [shares(t, buffer) for t in parts]
    return f, calls


@trap
def data_is_kept_and_written_later():
    """What `.data` gave lies in an attribute: made before the call, made in it, laid anew."""
    buffer, w = whet.ones(2), leaf(2)
    o = Box(d=buffer.data, fresh=False)
    def f(x):
        if o.fresh:
            o.d = buffer.data
        y = w * x
        with whet.no_grad():
            o.d.add_(y)
        if not o.fresh:
            return y
        o.d.add_(y)
        return o.d.sum()
    def calls(f):
        for i in range(16):
            o.fresh = 4 <= i < 8 or i > 11
            if i in (8, 9, 10):
                o.d = buffer.data
            yield outcome(lambda: f(ramp(2))), buffer, o.d.requires_grad, shares(o.d, buffer)
    return f, calls


@trap
def versions_of_data_are_counted_apart():
    """A write to `.data` of a tensor that a graph has saved goes unseen, one to `detach()` is an
    error."""
    w, o = leaf(2), Box(by="data")
    def f(x, buffer):
        y = (w * buffer).exp()
        z = y * x
        (buffer.data if o.by == "data" else buffer.detach()).add_(z)
        z.sum().backward()
        return z, w.grad.clone()
    def calls(f):
        buffer = ramp(2) / 8
        for by in ("data",) * 4 + ("detach",) * 3 + ("data",) * 2:
            o.by, w.grad = by, None
            yield outcome(lambda: f(ramp(2) / 9, buffer)), buffer, w.grad
    return f, calls
