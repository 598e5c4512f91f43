"""Programs as people write them for PyTorch, cut to a second: they run, they learn, and their
numbers are PyTorch's where they are given."""
import copy
import math
from collections import namedtuple

import numpy as np
import pytest
import whet as torch
import whet.nn as nn
import whet.nn.functional as F
import whet.optim as optim
from whet.utils.data import DataLoader, Dataset, TensorDataset, default_collate, random_split

from tests.ops.program_parts import fit, floats, rng, start


def test_mnist(tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super(Net, self).__init__()  # noqa: UP008  (as it is written there)
            self.conv1 = nn.Conv2d(1, 8, 3, 1)
            self.conv2 = nn.Conv2d(8, 16, 3, 1)
            self.dropout1 = nn.Dropout(0.25)
            self.fc1 = nn.Linear(16 * 5 * 5, 32)
            self.fc2 = nn.Linear(32, 10)

        def forward(self, x):
            x = F.relu(self.conv2(F.relu(self.conv1(x))))
            x = torch.flatten(self.dropout1(F.max_pool2d(x, 2)), 1)
            return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)

    r = rng()
    use_cuda = torch.cuda.is_available()
    device = torch.device("cuda" if use_cuda else "cpu")
    torch.manual_seed(1)
    x, y = floats(r, 64, 1, 14, 14), torch.from_numpy(r.randint(0, 10, 64))
    x[torch.arange(64), 0, y] += 3                          # a bright row tells the digit
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.9)
    means = []
    for _ in range(10):
        model.train()
        total = 0
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target)
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        means.append(total / len(loader))
    assert means[-1] < means[0] * 0.7 and scheduler.get_last_lr() == [pytest.approx(0.9 ** 10)]
    model.eval()
    with torch.no_grad():
        out = model(x)
        pred = out.argmax(dim=1, keepdim=True)
        correct = pred.eq(y.view_as(pred)).sum().item()
    assert correct > 30
    torch.save(model.state_dict(), tmp_path / "mnist.pt")
    again = Net()
    assert (str(again.load_state_dict(torch.load(tmp_path / "mnist.pt")))
            == "<All keys matched successfully>")
    assert torch.equal(again.eval()(x), out)


def test_vae():
    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc21, self.fc22 = nn.Linear(64, 32), nn.Linear(32, 4), nn.Linear(32, 4)
            self.fc3, self.fc4 = nn.Linear(4, 32), nn.Linear(32, 64)

        def reparameterize(self, mu, logvar):
            std = torch.exp(0.5 * logvar)
            eps = torch.randn_like(std)
            return mu + eps * std

        def forward(self, x):
            h = F.relu(self.fc1(x.view(-1, 64)))
            mu, logvar = self.fc21(h), self.fc22(h)
            return torch.sigmoid(self.fc4(F.relu(self.fc3(self.reparameterize(mu, logvar))))), mu, logvar

    torch.manual_seed(0)
    x = torch.rand(32, 1, 8, 8).round()
    model = VAE()

    def loss():
        recon, mu, logvar = model(x)
        bce = F.binary_cross_entropy(recon, x.view(-1, 64), reduction="sum")
        return bce - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())

    losses = fit(model, loss, optim.Adam(model.parameters(), lr=1e-2), 40)
    assert losses[-1] < losses[0] * 0.97


def test_dcgan():
    def weights_init(m):
        classname = m.__class__.__name__
        if classname.find("Conv") != -1:
            nn.init.normal_(m.weight, 0.0, 0.02)
        elif isinstance(m, nn.BatchNorm2d):
            m.weight.data.normal_(1.0, 0.02)
            m.bias.data.fill_(0)

    torch.manual_seed(0)
    g = nn.Sequential(nn.ConvTranspose2d(8, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16),
                      nn.ReLU(True), nn.ConvTranspose2d(16, 3, 4, 2, 1, bias=False),
                      nn.Tanh()).apply(weights_init)
    d = nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8),
                      nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(8, 1, 4, 1, 0, bias=False),
                      nn.Sigmoid(), nn.Flatten(0)).apply(weights_init)
    criterion = nn.BCELoss()
    opt_d, opt_g = (optim.Adam(m.parameters(), lr=2e-3, betas=(0.5, 0.999)) for m in (d, g))
    real = floats(rng(), 16, 3, 8, 8).tanh()
    label = torch.full((16,), 1.0)
    errors = []
    for _ in range(12):
        d.zero_grad()
        error = criterion(d(real), label.fill_(1))
        error.backward()
        fake = g(torch.randn(16, 8, 1, 1))
        error_fake = criterion(d(fake.detach()), label.fill_(0))
        error_fake.backward()
        opt_d.step()
        g.zero_grad()
        criterion(d(fake), label.fill_(1)).backward()
        opt_g.step()
        errors.append((error + error_fake).item())
    assert min(errors) < errors[0] and all(p.grad is not None for p in g.parameters())
    assert g[1].num_batches_tracked.item() == 12


def test_actor_critic():
    Saved = namedtuple("Saved", ["log_prob", "value"])
    body, action, value = nn.Linear(3, 16), nn.Linear(16, 2), nn.Linear(16, 1)
    torch.manual_seed(0)
    params = [p for m in (body, action, value) for p in m.parameters()]
    optimizer = optim.Adam(params, lr=3e-2)
    right = []
    for _ in range(25):
        saved, rewards = [], []
        for _ in range(8):
            h = F.relu(body(torch.ones(3)))
            probs = F.softmax(action(h), dim=-1)
            a = torch.multinomial(probs, 1).item()
            saved.append(Saved(probs.log()[a], value(h)))
            rewards.append(float(a))
        returns = torch.tensor(rewards)
        losses = [-s.log_prob * (R - s.value.item()) + F.smooth_l1_loss(s.value, torch.tensor([R]))
                  for s, R in zip(saved, returns)]
        optimizer.zero_grad()
        torch.stack(losses).sum().backward()
        optimizer.step()
        right.append(np.mean(rewards))
    assert np.mean(right[-5:]) > np.mean(right[:5]) and np.mean(right[-5:]) > 0.8


def test_graph_attention():
    class GAT(nn.Module):
        def __init__(self, i, o, heads=2):
            super().__init__()
            self.heads, self.o = heads, o
            self.lin = nn.Linear(i, o * heads, bias=False)
            self.a_src = nn.Parameter(torch.empty(1, heads, o))
            self.a_dst = nn.Parameter(torch.empty(1, heads, o))

        def forward(self, x, edges):
            src, dst = edges
            z = self.lin(x).view(-1, self.heads, self.o)
            e = F.leaky_relu((z * self.a_src).sum(-1).index_select(0, src)
                             + (z * self.a_dst).sum(-1)[dst], 0.2)
            e = (e - e.max()).exp()
            total = torch.zeros(len(x),
                                self.heads).scatter_add_(0, dst.unsqueeze(-1).expand_as(e), e)
            weight = e / (total.index_select(0, dst) + 1e-16)
            return torch.zeros_like(z).index_add_(0, dst, weight.unsqueeze(-1) * z[src]).mean(1)

    r = rng()
    x, y = floats(r, 20, 8), torch.from_numpy(r.randint(0, 3, 20))
    edges = torch.from_numpy(np.concatenate([r.randint(0, 20, (2, 40)),
                                             np.arange(20)[None].repeat(2, 0)], 1))
    model = start(GAT(8, 3))
    losses = fit(model, lambda: F.cross_entropy(model(x, edges), y),
                 optim.Adagrad(model.parameters(), 0.3), 20)
    assert (losses[0], losses[-1]) == pytest.approx((1.1231912, 0.2246220), rel=1e-3)


def test_resnet():
    class BasicBlock(nn.Module):
        def __init__(self, inplanes, planes, stride=1, downsample=None):
            super().__init__()
            self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(planes)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(planes)
            self.downsample = downsample

        def forward(self, x):
            identity = x if self.downsample is None else self.downsample(x)
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += identity
            return self.relu(out)

    def layer(i, o, stride):
        down = (nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))
                if stride > 1 else None)
        return nn.Sequential(BasicBlock(i, o, stride, down), BasicBlock(o, o))

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8),
                          nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1), layer(8, 8, 1),
                          layer(8, 16, 2), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(),
                          nn.Linear(16, 4))
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(m, nn.BatchNorm2d):
            nn.init.constant_(m.weight, 1)
        if isinstance(m, BasicBlock):
            nn.init.constant_(m.bn2.weight, 0)
    r = rng()
    x, y = floats(r, 16, 3, 32, 32), torch.from_numpy(r.randint(0, 4, 16))
    opt = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4, nesterov=True)
    losses = fit(model, lambda: nn.CrossEntropyLoss()(model(x), y), opt, 12)
    assert losses[-1] < losses[0] * 0.5
    keys = list(model.state_dict())
    assert "5.0.downsample.1.num_batches_tracked" in keys and len(keys) == 62


def test_unet():
    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = self.twice(1, 8), self.twice(8, 16)
            self.up = nn.ConvTranspose2d(16, 8, kernel_size=2, stride=2)
            self.c, self.out = self.twice(16, 8), nn.Conv2d(8, 2, 1)

        @staticmethod
        def twice(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o),
                                 nn.ReLU(inplace=True), nn.Conv2d(o, o, 3, padding=1, bias=False),
                                 nn.BatchNorm2d(o), nn.ReLU(inplace=True))

        def forward(self, x):
            x1 = self.a(x)
            x2 = self.up(self.b(F.max_pool2d(x1, 2)))
            dy, dx = x1.size(2) - x2.size(2), x1.size(3) - x2.size(3)
            x2 = F.pad(x2, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
            return self.out(self.c(torch.cat([x1, x2], dim=1)))

    torch.manual_seed(0)
    x = floats(rng(), 2, 1, 13, 18)
    y = (F.avg_pool2d(x, 3, 1, 1)[:, 0] > 0).long()
    model = UNet().to(memory_format=torch.channels_last)

    def loss():
        p = model(x)
        soft, hot = (F.softmax(p, dim=1).flatten(2),
                     F.one_hot(y, 2).permute(0, 3, 1, 2).float().flatten(2))
        dice = (2 * (soft * hot).sum(-1) + 1e-6) / (soft.sum(-1) + hot.sum(-1) + 1e-6)
        return F.cross_entropy(p, y) + 1 - dice.mean()

    losses = fit(model, loss, optim.RMSprop(model.parameters(), lr=3e-3, momentum=0.9), 20)
    assert losses[-1] < losses[0] * 0.6


def test_second_order():
    """MAML's inner loop, a physics-informed network, Hessians and their products."""
    net = start(nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)))
    r = rng()
    xs, xq = (torch.from_numpy(r.rand(10, 1).astype("f4") * 6 - 3) for _ in range(2))

    def maml():
        params = dict(net.named_parameters())
        for _ in range(2):
            loss = F.mse_loss(torch.func.functional_call(net, params, (xs,)), xs.sin())
            grads = torch.autograd.grad(loss, params.values(), create_graph=True)
            params = {k: p - 0.1 * g for (k, p), g in zip(params.items(), grads)}
        return F.mse_loss(torch.func.functional_call(net, params, xq), xq.sin())

    losses = fit(net, maml, optim.Adam(net.parameters(), 2e-2), 20)
    assert losses[-1] < losses[0] * 0.7

    net = start(nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1)))
    x, ends = (torch.linspace(0, math.pi, 20).view(-1, 1).requires_grad_(True),
               torch.tensor([[0.0], [math.pi]]))

    def pinn():
        u = net(x)
        ux = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
        uxx = torch.autograd.grad(ux, x, grad_outputs=torch.ones_like(ux), create_graph=True)[0]
        return ((uxx + torch.sin(x)) ** 2).mean() + (net(ends) ** 2).mean()

    losses = fit(net, pinn, optim.Adam(net.parameters(), 1e-2), 60)
    assert losses[-1] < losses[0] * 0.6

    def f(w):
        return (w ** 3).sum() + w[0] * w[1]

    w, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0])
    hessian = torch.tensor([[6.0, 1.0], [1.0, 12.0]])
    assert torch.equal(torch.autograd.functional.hessian(f, w), hessian)
    assert torch.equal(torch.autograd.functional.hvp(f, w, v)[1], hessian @ v)
    assert torch.equal(torch.autograd.functional.jacobian(torch.func.grad(f), w), hessian)
    assert torch.equal(torch.autograd.functional.jvp(lambda w: w * w, w, v)[1], 2 * w * v)
    assert torch.equal(torch.autograd.functional.vjp(lambda w: w * w, w, v)[1], 2 * w * v)


def test_distillation_and_averages():
    r = rng()
    x = floats(r, 20, 10)
    teacher, student = start(nn.Linear(10, 5), 1), start(nn.Linear(10, 5), 2)

    def distill(T=4.0):
        with torch.no_grad():
            soft = F.softmax(teacher(x) / T, -1)
        return (nn.KLDivLoss(reduction="batchmean")(F.log_softmax(student(x) / T, dim=-1), soft)
                * T ** 2)

    average = optim.swa_utils.AveragedModel(student,
                                            multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.5))
    opt = optim.SGD(student.parameters(), 0.5, momentum=0.9)
    losses = []
    for _ in range(30):
        losses += fit(student, distill, opt, 1)
        average.update_parameters(student)
    assert (losses[-1] < losses[0] * 0.1
            and list(average.state_dict()) == ["n_averaged", "module.weight", "module.bias"])
    mine = copy.deepcopy(student)
    with torch.no_grad():
        for a, b in zip(mine.parameters(), teacher.parameters()):
            a.lerp_(b, 1.0)
    assert torch.allclose(mine(x), teacher(x))


def test_a_normalising_flow():
    class Coupling(nn.Module):
        def __init__(self, mask):
            super().__init__()
            self.register_buffer("mask", mask)
            self.net = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 4))

        def forward(self, x, inverse=False):
            kept = x * self.mask
            scale, shift = (self.net(kept).view(-1, 2, 2) * (1 - self.mask)).unbind(1)
            scale = scale.tanh()
            moved = (x - shift) * (-scale).exp() if inverse else x * scale.exp() + shift
            return kept + (1 - self.mask) * moved, scale.sum(-1)

    flow = start(nn.ModuleList([Coupling(torch.tensor(m)) for m in ([0.0, 1.0], [1.0, 0.0]) * 2]))
    data = floats(rng(), 64, 2) * torch.tensor([2.0, 0.5]) + 1

    def likelihood():
        z, logdet = data, data.new_zeros(len(data))
        for layer in flow:
            z, d = layer(z)
            logdet += d
        return -(-0.5 * (z ** 2 + np.log(2 * np.pi)).sum(1) + logdet).mean()

    losses = fit(flow, likelihood, optim.NAdam(flow.parameters(), 1e-2), 40)
    assert losses[-1] < losses[0] - 0.3
    z = data
    for layer in flow:
        z, _ = layer(z)
    for layer in reversed(flow):
        z, _ = layer(z, inverse=True)
    assert torch.allclose(z, data, atol=1e-4)


def test_data_pipeline():
    class Words(Dataset):
        def __len__(self):
            return 10

        def __getitem__(self, i):
            return {"x": np.full(3, i, "f4"), "y": i, "name": f"n{i}"}

    def collate(batch):
        rows = [torch.ones(b["y"] + 1) for b in batch]
        return (nn.utils.rnn.pad_sequence(rows, batch_first=True),
                torch.tensor([len(x) for x in rows]))

    batch = next(iter(DataLoader(Words(), batch_size=4)))
    assert (batch["x"].shape == (4, 3) and batch["y"].tolist() == [0, 1, 2, 3]
            and batch["name"] == ["n0", "n1", "n2", "n3"])
    padded, lengths = next(iter(DataLoader(Words(), batch_size=3, collate_fn=collate)))
    assert padded.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]] and lengths.tolist() == [1, 2, 3]
    a, b = random_split(Words(), [7, 3], generator=torch.Generator().manual_seed(42))
    assert (sorted(a.indices + b.indices) == list(range(10))
            and len(DataLoader(a, 2, drop_last=True)) == 3)


MISTAKES = {
    "wrong features": (lambda: nn.Linear(4, 3)(torch.zeros(2, 5)), RuntimeError,
                       r"5 features, the weight is for 4.*\(2x5 and 4x3\)"),
    "an array": (lambda: nn.Linear(4, 3)(np.zeros((2, 4))), TypeError,
                 "argument 'input' .* must be Tensor, not ndarray"),
    "an LSTM's pair": (lambda: nn.Sequential(nn.LSTM(3, 3), nn.Linear(3, 2))(torch.zeros(2, 2, 3)),
                       TypeError, "must be Tensor, not tuple"),
    "float targets": (lambda: F.cross_entropy(torch.zeros(2, 3), torch.zeros(2)), RuntimeError,
                      "class indices"),
    "a list of targets": (lambda: F.cross_entropy(torch.zeros(2, 3), [0, 1]), TypeError,
                          "'target' .* must be Tensor, not list"),
    "a class too many": (lambda: F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 3])),
                         IndexError, "Target 3 is out of bounds"),
    "loss as a function": (lambda: nn.CrossEntropyLoss(torch.zeros(2, 3), torch.tensor([0, 1])),
                           TypeError, r"CrossEntropyLoss\(\)\(input"),
    "a function as a layer": (lambda: nn.Sequential(nn.Linear(2, 3), F.relu), TypeError,
                              "relu is not a Module subclass"),
    "embedding range": (lambda: nn.Embedding(10, 3)(torch.tensor([10])), IndexError,
                        "index 10 is out of range"),
    "cuda": (lambda: torch.zeros(2).to("cuda"), RuntimeError, "not available"),
    "numpy of a gradient": (lambda: torch.zeros(2, requires_grad=True).numpy(), RuntimeError, "detach"),
    "item of many": (lambda: torch.zeros(3).item(), RuntimeError, "cannot be converted to Scalar"),
    "a leaf in place": (lambda: torch.zeros(3, requires_grad=True).add_(1), RuntimeError,
                        "leaf Variable"),
    "no parameters": (lambda: optim.SGD([], lr=0.1), ValueError, "empty parameter list"),
    "no loss": (lambda: (torch.zeros(3, requires_grad=True) * 2).backward(), RuntimeError,
                "only for scalar outputs"),
    "gone attribute": (lambda: torch.no_such_function, AttributeError,
                       "no attribute 'no_such_function'"),
    "missing part": (lambda: torch.missing.part, AttributeError, "no attribute 'missing'"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes(what):
    make, error, words = MISTAKES[what]
    with pytest.raises(error, match=words):
        make()


def test_names_of_older_programs():
    import whet.backends.cudnn as cudnn
    from whet.autograd import Variable
    from whet.nn.modules.batchnorm import _BatchNorm
    from whet.nn.modules.module import Module
    from whet.utils.data.dataloader import default_collate as collate
    cudnn.benchmark = True
    torch.cuda.manual_seed_all(1)
    assert (torch.cuda.device_count() == 0 and not torch.backends.mps.is_available()
            and not hasattr(torch, "nothing_of_this_name"))
    assert not torch.accelerator.is_available() and torch.accelerator.current_accelerator() is None
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high" and collate is default_collate
    assert isinstance(nn.BatchNorm2d(2), _BatchNorm) and issubclass(nn.Linear, Module)
    x = Variable(torch.FloatTensor([[1, 2]]), requires_grad=True)
    assert (x.requires_grad and isinstance(x, torch.FloatTensor)
            and not isinstance(x, torch.LongTensor))
    assert x.type(torch.LongTensor).dtype is torch.int64 and torch.LongTensor(2, 3).shape == (2, 3)
    assert (nn.DataParallel(nn.Linear(2, 1))(x).shape == (1, 1)
            and nn.parallel.data_parallel(nn.Linear(2, 1), x).shape == (1, 1))
    assert isinstance(optim.lr_scheduler.StepLR(optim.SGD([x], 0.1), 1),
                      optim.lr_scheduler._LRScheduler)
