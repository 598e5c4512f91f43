"""What an op costs beyond its arithmetic: tiny tensors, one line each, against PyTorch eager."""
from .harness import Table, peer, statement, timings

ROWS = [("a + b, 4 elements", "a + b"), ("a + b, with grad", "ga + b"), ("a * b + c", "a * b + c"),
        ("x.sum()", "x.sum()"), ("x[0]", "x[0]"), ("x[:, None]", "x[:, None]"),
        ("x.reshape(4, 2)", "x.reshape(4, 2)"), ("x.exp()", "x.exp()"),
        ("(x * w).sum().backward()", "(x * gw).sum().backward()"),
        ("MLP 4-8-4 forward", "mlp(inp)"), ("MLP forward + backward", "mlp(inp).sum().backward()"),
        ("MLP training step, SGD", "step_sgd()"), ("MLP training step, Adam", "step_adam()"), ]


def setup(m, nn, optim):
    """The names that the rows use, made with one framework."""
    m.manual_seed(0)
    env = dict(a=m.rand(4), b=m.rand(4), c=m.rand(4), ga=m.rand(4, requires_grad=True),
               x=m.rand(2, 4), gw=m.rand(2, 4, requires_grad=True))

    def net():
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
    inp, target = m.rand(4, 4), m.rand(4, 4)

    def stepper(make):
        model = net()
        opt = make(model.parameters())

        def step():
            opt.zero_grad()
            loss = ((model(inp) - target) ** 2).mean()
            loss.backward()
            opt.step()
        return step

    return dict(env, mlp=net(), inp=inp, step_sgd=stepper(lambda p: optim.SGD(p, lr=1e-3)),
                step_adam=stepper(lambda p: optim.Adam(p, lr=1e-3)))


def main():
    """Measure and write the table."""
    import whet
    import whet.nn
    import whet.optim
    torch = peer("torch")
    envs = {"whet": setup(whet, whet.nn, whet.optim)}
    if torch:
        torch.set_num_threads(1)
        envs["torch"] = setup(torch, torch.nn, torch.optim)
    table = Table("overhead", "Per-op overhead on tiny tensors", ["torch"])
    for label, source in ROWS:
        table.add(label, timings({k: statement(source, env) for k, env in envs.items()}))
    table.finish()
