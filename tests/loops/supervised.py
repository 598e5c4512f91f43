"""Classification, regression, sequences: schedules, averages, accumulation, mixed precision,
metrics, early stopping, progress bars."""
import collections
import copy
import dataclasses
import math
import time

import whet as torch
import whet.nn.functional as F
from whet import nn

from . import harness
from .harness import loop


def digits(n=48, features=8, classes=3):
    """Data that can be learned."""
    x = torch.randn(n, features)
    return x, (x[:, :classes]).argmax(1)


def batches(x, y, size, epochs):
    """Shuffled minibatches."""
    for _ in range(harness.TIMES * epochs):
        order = torch.randperm(len(x))
        for i in range(0, len(x) - size + 1, size):
            yield x[order[i:i + size]], y[order[i:i + size]]


def mlp(features=8, classes=3, hidden=12):
    """A small classifier."""
    return nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Dropout(0.1),
                         nn.Linear(hidden, classes))


class AverageMeter:
    """Computes and stores the average and current value (of the ImageNet example)."""

    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.reset()

    def reset(self):
        """Start again."""
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        """One more value."""
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)


def accuracy(output, target, topk=(1,)):
    """Computes the accuracy over the k top predictions (of the ImageNet example)."""
    with torch.no_grad():
        maxk = max(topk)
        _, pred = output.topk(maxk, 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [
            correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0))
            for k in topk]


@loop
def imagenet(trace):
    """The ImageNet example: SGD with momentum, StepLR inside, meters of losses and accuracies."""
    model = mlp()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=12, gamma=0.1)
    losses, top1 = AverageMeter("Loss", ":.4e"), AverageMeter("Acc@1", ":6.2f")

    @trace
    def step(images, target):
        output = model(images)
        loss = criterion(output, target)
        acc1, acc2 = accuracy(output, target, topk=(1, 2))
        losses.update(loss.item(), images.size(0))
        top1.update(acc1[0], images.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    x, y = digits()
    for images, target in batches(x, y, 8, 14):
        step(images, target)
        yield losses.avg, top1.avg, str(losses), scheduler.get_last_lr(), model[0].weight


@loop
def cosine_with_warm_up(trace):
    """timm's kind of step: LinearLR then CosineAnnealingLR by SequentialLR, label smoothing,
    clipped gradients, an EMA of the weights."""
    model = mlp()
    ema = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.SequentialLR(
        optimizer,
        [
            torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, total_iters=6),
            torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)], [6])
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    @trace
    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        with torch.no_grad():
            for p, q in zip(ema.parameters(), model.parameters()):
                p.mul_(0.99).add_(q.detach(), alpha=0.01)
        return {"loss": loss.detach(), "norm": norm, "lr": optimizer.param_groups[0]["lr"]}
    for x, y in batches(*digits(), 8, 8):
        yield step(x, y), ema[0].weight


@loop
def one_cycle(trace):
    """fast.ai's: OneCycleLR that moves Adam's beta1, too."""
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2,
                                                    total_steps=60 * harness.TIMES)

    @trace
    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.item()
    for x, y in batches(*digits(), 8, 8):
        yield step(x, y), scheduler.get_last_lr(), optimizer.param_groups[0]["betas"]


@loop
def warm_restarts_and_accumulation(trace):
    """Gradients of four batches, CosineAnnealingWarmRestarts after each update."""
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=50)
    accumulation_steps = 4

    @trace
    def step(x, y):
        for i in range(accumulation_steps):
            loss = (F.cross_entropy(model(x[i::accumulation_steps]), y[i::accumulation_steps])
                    / accumulation_steps)
            loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        return loss
    for x, y in batches(*digits(), 16, 16):
        yield step(x, y), scheduler.get_last_lr()


@loop
def accumulation_by_counting(trace):
    """nanoGPT's and Lightning's kind: each batch is a step, every fourth updates the weights."""
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    state = {"step": 0}

    @trace
    def step(x, y):
        loss = F.cross_entropy(model(x), y) / 4
        loss.backward()
        state["step"] += 1
        if state["step"] % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss.item() * 4
    for x, y in batches(*digits(), 6, 10):
        yield step(x, y), state["step"], model[3].bias


@loop
def mixed_precision(trace):
    """autocast and a GradScaler, metrics in a dict of deques."""
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 8, growth_interval=100)
    history = collections.defaultdict(lambda: collections.deque(maxlen=20))

    @trace
    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x).float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        history["loss"].append(loss.item())
        return loss.detach()
    for x, y in batches(*digits(), 8, 8):
        yield step(x, y), list(history["loss"]), scaler.get_scale()


class SmoothedValue:
    """Tracks a series of values (of DETR and torchvision's references)."""

    def __init__(self, window_size=20):
        self.deque, self.total, self.count = collections.deque(maxlen=window_size), 0.0, 0

    def update(self, value, n=1):
        """One more value."""
        self.deque.append(value)
        self.count += n
        self.total += value * n

    @property
    def global_avg(self):
        """Of all."""
        return self.total / self.count


class MetricLogger:
    """Meters by name (of DETR and torchvision's references)."""

    def __init__(self):
        self.meters = collections.defaultdict(SmoothedValue)

    def update(self, **kwargs):
        """A value for each."""
        for k, v in kwargs.items():
            if isinstance(v, torch.Tensor):
                v = v.item()
            assert isinstance(v, float | int)
            self.meters[k].update(v)


@loop
def detection_references(trace):
    """torchvision's references: a MetricLogger, a dict of losses, LambdaLR as warm-up, a stop
    where the loss is not finite."""
    model, boxes = mlp(), nn.Linear(8, 4)
    params = [p for m in (model, boxes) for p in m.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=0.05, momentum=0.9)
    warmup_iters, logger = 30, MetricLogger()
    lr_scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer,
                                                     lambda it: min(1.0, 0.001 + it / warmup_iters))

    @trace
    def step(images, targets):
        loss_dict = {"loss_classifier": F.cross_entropy(model(images), targets["labels"]),
                     "loss_box_reg": F.smooth_l1_loss(boxes(images), targets["boxes"])}
        losses = sum(loss for loss in loss_dict.values())
        loss_value = losses.item()
        if not math.isfinite(loss_value):
            raise FloatingPointError(f"Loss is {loss_value}, stopping training")
        optimizer.zero_grad()
        losses.backward()
        optimizer.step()
        lr_scheduler.step()
        logger.update(loss=losses, **loss_dict)
        logger.update(lr=optimizer.param_groups[0]["lr"])
    for x, y in batches(*digits(), 8, 9):
        step(x, {"labels": y, "boxes": x[:, :4].tanh()})
        yield [(k, list(m.deque), m.global_avg) for k, m in logger.meters.items()]


class EarlyStopping:
    """Stops where the validation loss does not get better after a patience (Bjarten's)."""

    def __init__(self, patience=7, delta=0.0):
        self.patience, self.delta, self.counter, self.best_score = patience, delta, 0, None
        self.early_stop = False

    def __call__(self, val_loss):
        score = -val_loss
        if self.best_score is None:
            self.best_score = score
        elif score < self.best_score + self.delta:
            self.counter += 1
            if self.counter >= self.patience:
                self.early_stop = True
        else:
            self.best_score, self.counter = score, 0


@loop
def early_stopping(trace):
    """Training and validation as two traced functions; the stop and ReduceLROnPlateau are
    decided between them."""
    model, stopping = mlp(), EarlyStopping(patience=60)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=4)
    (x, y), (vx, vy) = digits(), digits(16)

    @trace
    def train(x, y):
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    @trace
    def validate(x, y):
        model.eval()
        with torch.no_grad():
            out = model(x)
            return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()
    for a, b in batches(x, y, 8, 9):
        loss = train(a, b)
        val, acc = validate(vx, vy)
        scheduler.step(val)
        stopping(val)
        yield loss, val, acc, stopping.counter, optimizer.param_groups[0]["lr"]
        if stopping.early_stop:
            break


class Bar:
    """A progress bar like tqdm's."""

    def __init__(self, total):
        self.n, self.total, self.postfix, self.start = 0, total, "", time.time()

    def set_postfix(self, **values):
        """What follows the bar."""
        self.postfix = ", ".join(f"{k}={v:.3f}" for k, v in values.items())

    def update(self, n=1):
        """Go on."""
        self.n += n
        print(f"\r{self.n}/{self.total} [{self.postfix}]", end="")


@loop
def progress_bar(trace):
    """An LSTM that classifies sequences, under a bar with its losses."""
    embedding, lstm, head = nn.Embedding(20, 8), nn.LSTM(8, 12, batch_first=True), nn.Linear(12, 3)
    optimizer = torch.optim.Adam([*embedding.parameters(), *lstm.parameters(), *head.parameters()],
                                 lr=1e-2)
    bar, running = Bar(48), collections.deque(maxlen=10)

    @trace
    def step(tokens, y):
        out, (h, c) = lstm(embedding(tokens))
        loss = F.cross_entropy(head(h[-1]), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running.append(loss.item())
        bar.set_postfix(loss=loss.item())
        bar.update()
        return loss.item()
    tokens = torch.randint(0, 20, (48, 6))
    for x, y in batches(tokens, tokens[:, 0] % 3, 8, 8):
        yield step(x, y), list(running)


@loop
def lbfgs(trace):
    """The time sequence example: LBFGS with a closure, as one traced step."""
    model = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4, history_size=10)

    @trace
    def step(x, y):
        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss
        return optimizer.step(closure)
    x = torch.randn(16, 2)
    y = (x ** 2).sum(1, keepdim=True)
    for _ in range(40):
        yield step(x, y), model[0].weight


@dataclasses.dataclass
class Config:
    """What a run is told."""
    lr: float = 5e-2
    inner: float = 0.1
    steps: int = 2


@loop
def maml(trace):
    """Model-agnostic meta-learning: gradients through the gradients of each task."""
    config = Config()
    w = [(torch.randn(1, 8) * 0.5).requires_grad_(),
         torch.zeros(8, requires_grad=True), (torch.randn(8, 1) * 0.3).requires_grad_()]
    optimizer = torch.optim.Adam(w, lr=config.lr)

    def net(x, w):
        return torch.tanh(x @ w[0] + w[1]) @ w[2]

    @trace
    def step(xs, ys, xq, yq):
        total, meta = 0.0, torch.tensor(0.0)
        for i in range(xs.shape[0]):
            fast = list(w)
            for _ in range(config.steps):
                grads = torch.autograd.grad(F.mse_loss(net(xs[i], fast), ys[i]),
                                            fast,
                                            create_graph=True)
                fast = [p - config.inner * g for p, g in zip(fast, grads)]
            loss = F.mse_loss(net(xq[i], fast), yq[i])
            meta = meta + loss
            total += loss.item()
        optimizer.zero_grad()
        meta.backward()
        optimizer.step()
        return total / xs.shape[0]
    for _ in range(40):
        phase, x = torch.rand(3, 1, 1) * 3, torch.rand(3, 10, 1) * 4 - 2
        y = torch.sin(x + phase)
        yield step(x[:, :5], y[:, :5], x[:, 5:], y[:, 5:]), w[0]
