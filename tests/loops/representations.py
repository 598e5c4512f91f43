"""Networks that learn from networks: BYOL, experts, distillation, tasks of tasks."""
import copy
import functools

import numpy as np
import whet as torch
import whet.nn as nn
import whet.nn.functional as F

from .harness import loop
from .supervised import batches, digits, mlp


# ---- BYOL ----------------------------------------------------------------------------------------
def singleton(cache_key):
    """lucidrains': what is made at first is kept."""
    def inner_fn(fn):
        @functools.wraps(fn)
        def wrapper(self, *args, **kwargs):
            instance = getattr(self, cache_key)
            if instance is not None:
                return instance
            instance = fn(self, *args, **kwargs)
            setattr(self, cache_key, instance)
            return instance
        return wrapper
    return inner_fn


class AverageOf:
    """byol-pytorch's EMA."""

    def __init__(self, beta):
        self.beta = beta

    def update_average(self, old, new):
        """A step."""
        if old is None:
            return new
        return old * self.beta + (1 - self.beta) * new


def update_moving_average(ema_updater, ma_model, current_model):
    """byol-pytorch's: new tensors in `.data`."""
    for current_params, ma_params in zip(current_model.parameters(), ma_model.parameters()):
        old_weight, up_weight = ma_params.data, current_params.data
        ma_params.data = ema_updater.update_average(old_weight, up_weight)


class BYOL(nn.Module):
    """byol-pytorch's."""

    def __init__(self, net):
        super().__init__()
        self.online_encoder, self.target_encoder = net, None
        self.online_predictor = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(True),
                                              nn.Linear(6, 4))
        self.target_ema_updater = AverageOf(0.99)
        self.augment1 = lambda x: x + 0.1 * torch.randn_like(x)
        self.augment2 = lambda x: x * (torch.rand_like(x) > 0.1)

    @singleton("target_encoder")
    def _get_target_encoder(self):
        target_encoder = copy.deepcopy(self.online_encoder)
        for p in target_encoder.parameters():
            p.requires_grad = False
        return target_encoder

    def update_moving_average(self):
        """After the optimizer."""
        assert self.target_encoder is not None, "target encoder has not been created yet"
        update_moving_average(self.target_ema_updater, self.target_encoder, self.online_encoder)

    def forward(self, x):
        images = torch.cat((self.augment1(x), self.augment2(x)), dim=0)
        online_pred_one, online_pred_two = self.online_predictor(
            self.online_encoder(images)).chunk(2, dim=0)
        with torch.no_grad():
            target_proj_one, target_proj_two = self._get_target_encoder()(images).detach().chunk(
                2, dim=0)

        def loss_fn(x, y):
            x = F.normalize(x, dim=-1, p=2)
            y = F.normalize(y, dim=-1, p=2)
            return 2 - 2 * (x * y).sum(dim=-1)
        return (loss_fn(online_pred_one, target_proj_two.detach())
                + loss_fn(online_pred_two, target_proj_one.detach())).mean()


@loop
def byol(trace):
    """A target encoder that is made when it is first wanted, whose weights get other memory."""
    learner = BYOL(nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4)))
    opt = torch.optim.Adam(learner.parameters(), lr=3e-3)

    @trace
    def step(images):
        loss = learner(images)
        opt.zero_grad()
        loss.backward()
        opt.step()
        learner.update_moving_average()
        return loss.item()
    for images in torch.randn(44, 8, 6):
        yield step(images), learner.target_encoder[0].weight


# ---- mixtures of experts -------------------------------------------------------------------------
class MoeLayer(nn.Module):
    """Mixtral's."""

    def __init__(self, experts, gate, num_experts_per_tok=2):
        super().__init__()
        self.experts, self.gate = nn.ModuleList(experts), gate
        self.num_experts_per_tok = num_experts_per_tok

    def forward(self, inputs):
        inputs_squashed = inputs.view(-1, inputs.shape[-1])
        gate_logits = self.gate(inputs_squashed)
        weights, selected_experts = torch.topk(gate_logits, self.num_experts_per_tok)
        weights = F.softmax(weights, dim=1, dtype=torch.float).type_as(inputs)
        results = torch.zeros_like(inputs_squashed)
        for i, expert in enumerate(self.experts):
            batch_idx, nth_expert = torch.where(selected_experts == i)
            results[batch_idx] += weights[batch_idx, nth_expert, None] * expert(
                inputs_squashed[batch_idx])
        return results.view_as(inputs)


@loop
def mixtral(trace):
    """Experts that get the tokens which chose them: other numbers of them at each call."""
    layer = MoeLayer([nn.Sequential(nn.Linear(6, 8), nn.SiLU(), nn.Linear(8, 6))
                      for _ in range(4)], nn.Linear(6, 4, bias=False))
    head = nn.Linear(6, 3)
    optimizer = torch.optim.AdamW([*layer.parameters(), *head.parameters()], lr=1e-2)

    @trace
    def step(x, y):
        logits = head(x + layer(x)).mean(1)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()
    for x in torch.randn(60, 4, 5, 6):
        yield step(x, (x.sum((1, 2)) > 0).long()), head.bias


# ---- distillation --------------------------------------------------------------------------------
def loss_fn_kd(outputs, labels, teacher_outputs, params):
    """peterliht's knowledge-distillation-pytorch."""
    alpha, T = params["alpha"], params["temperature"]
    return nn.KLDivLoss(reduction="batchmean")(F.log_softmax(outputs / T, dim=1),
                          F.softmax(teacher_outputs / T, dim=1)) * (alpha * T * T) + \
        F.cross_entropy(outputs, labels) * (1. - alpha)


def accuracy(outputs, labels):
    """In NumPy."""
    outputs = np.argmax(outputs, axis=1)
    return np.sum(outputs == labels) / float(labels.size)


class RunningAverage:
    """A simple class that maintains the running average of a quantity."""

    def __init__(self):
        self.steps, self.total = 0, 0

    def update(self, val):
        """One more."""
        self.total += val
        self.steps += 1

    def __call__(self):
        return self.total / float(self.steps)


@loop
def distillation(trace):
    """A teacher and a student, metrics in NumPy every few steps in a list of dicts."""
    model, teacher_model, params = mlp(), mlp(hidden=20).eval(), {"alpha": 0.9, "temperature": 4}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    metrics, summ, loss_avg = {"accuracy": accuracy}, [], RunningAverage()

    @trace
    def train_batch(i, train_batch, labels_batch):
        output_batch = model(train_batch)
        with torch.no_grad():
            output_teacher_batch = teacher_model(train_batch)
        loss = loss_fn_kd(output_batch, labels_batch, output_teacher_batch, params)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 3 == 0:
            output_batch = output_batch.data.cpu().numpy()
            labels_batch = labels_batch.data.cpu().numpy()
            summary_batch = {metric: metrics[metric](output_batch, labels_batch)
                             for metric in metrics}
            summary_batch["loss"] = loss.item()
            summ.append(summary_batch)
        loss_avg.update(loss.item())
    for i, (x, y) in enumerate(batches(*digits(), 8, 10)):
        train_batch(i % 6, x, y)
        yield summ[-1], loss_avg()


# ---- MAML as by higher ---------------------------------------------------------------------------
class Learner(nn.Module):
    """dragen1860's MAML-Pytorch: parameters in a list, layers by a config."""

    def __init__(self, config):
        super().__init__()
        self.config, self.vars = config, nn.ParameterList()
        for name, param in config:
            if name == "linear":
                w = nn.Parameter(torch.ones(*param))
                nn.init.kaiming_normal_(w)
                self.vars.append(w)
                self.vars.append(nn.Parameter(torch.zeros(param[0])))

    def forward(self, x, vars=None):
        if vars is None:
            vars = self.vars
        idx = 0
        for name, param in self.config:
            if name == "linear":
                w, b = vars[idx], vars[idx + 1]
                x = F.linear(x, w, b)
                idx += 2
            elif name == "relu":
                x = F.relu(x, inplace=param[0])
        assert idx == len(vars)
        return x


@loop
def maml_pytorch(trace):
    """dragen1860's: losses of each inner step, fast weights by map and zip, accuracies in NumPy."""
    net = Learner([("linear", [8, 6]), ("relu", [True]), ("linear", [3, 8])])
    meta_optim, update_step, update_lr = torch.optim.Adam(net.parameters(), lr=1e-2), 3, 0.1

    @trace
    def forward(x_spt, y_spt, x_qry, y_qry):
        task_num, _ = x_spt.size(0), x_spt.size(1)
        querysz = x_qry.size(1)
        losses_q = [0 for _ in range(update_step + 1)]
        corrects = [0 for _ in range(update_step + 1)]
        for i in range(task_num):
            logits = net(x_spt[i], vars=None)
            loss = F.cross_entropy(logits, y_spt[i])
            grad = torch.autograd.grad(loss, net.parameters())
            fast_weights = list(map(lambda p: p[1] - update_lr * p[0],
                                    zip(grad, net.parameters())))
            for k in range(1, update_step):
                logits = net(x_spt[i], fast_weights)
                loss = F.cross_entropy(logits, y_spt[i])
                grad = torch.autograd.grad(loss, fast_weights)
                fast_weights = list(map(lambda p: p[1] - update_lr * p[0],
                                        zip(grad, fast_weights)))
                logits_q = net(x_qry[i], fast_weights)
                loss_q = F.cross_entropy(logits_q, y_qry[i])
                losses_q[k + 1] += loss_q
                with torch.no_grad():
                    pred_q = F.softmax(logits_q, dim=1).argmax(dim=1)
                    correct = torch.eq(pred_q, y_qry[i]).sum().item()
                    corrects[k + 1] = corrects[k + 1] + correct
        loss_q = losses_q[-1] / task_num
        meta_optim.zero_grad()
        loss_q.backward()
        meta_optim.step()
        return np.array(corrects) / (querysz * task_num)
    for x in torch.randn(40, 2, 10, 6):
        y = (x.sum(-1) > 0).long() + (x[..., 0] > 1).long()
        yield forward(x[:, :5], y[:, :5], x[:, 5:], y[:, 5:]), net.vars[0]
