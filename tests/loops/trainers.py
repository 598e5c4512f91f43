"""Trainers with classes around the step: Hugging Face, timm."""
import collections
import copy
import dataclasses
import enum
import math

import numpy as np
import whet as torch
import whet.nn as nn
import whet.nn.functional as F

from .harness import loop
from .supervised import AverageMeter, accuracy, batches, digits


# ---- Hugging Face --------------------------------------------------------------------------------
class IntervalStrategy(enum.Enum):
    """When something is done."""
    NO = "no"
    STEPS = "steps"


@dataclasses.dataclass
class TrainingArguments:
    """What the trainer is told."""
    learning_rate: float = 5e-3
    gradient_accumulation_steps: int = 2
    max_grad_norm: float = 1.0
    logging_steps: int = 4
    logging_strategy: IntervalStrategy = IntervalStrategy.STEPS
    label_smoothing_factor: float = 0.1
    warmup_steps: int = 10
    n_gpu: int = 0


@dataclasses.dataclass
class TrainerState:
    """Where the training is."""
    epoch: float | None = None
    global_step: int = 0
    log_history: list = dataclasses.field(default_factory=list)


class ModelOutput(collections.OrderedDict):
    """A dict whose entries are attributes, too."""

    def __post_init__(self):
        for field in dataclasses.fields(self):
            v = getattr(self, field.name)
            if v is not None:
                self[field.name] = v

    def __getitem__(self, k):
        if isinstance(k, str):
            return dict(self.items())[k]
        return self.to_tuple()[k]

    def __setattr__(self, name, value):
        if name in self.keys() and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self):
        """Its values."""
        return tuple(self[k] for k in self.keys())


@dataclasses.dataclass
class SequenceClassifierOutput(ModelOutput):
    """What a classifier gives."""
    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    attentions: tuple | None = None


@dataclasses.dataclass
class LabelSmoother:
    """Hugging Face's."""
    epsilon: float = 0.1
    ignore_index: int = -100

    def __call__(self, model_output, labels):
        logits = model_output["logits"] if isinstance(model_output, dict) else model_output[0]
        log_probs = -nn.functional.log_softmax(logits, dim=-1)
        if labels.dim() == log_probs.dim() - 1:
            labels = labels.unsqueeze(-1)
        padding_mask = labels.eq(self.ignore_index)
        labels = torch.clamp(labels, min=0)
        nll_loss = log_probs.gather(dim=-1, index=labels)
        smoothed_loss = log_probs.sum(dim=-1, keepdim=True, dtype=torch.float32)
        nll_loss.masked_fill_(padding_mask, 0.0)
        smoothed_loss.masked_fill_(padding_mask, 0.0)
        num_active_elements = padding_mask.numel() - padding_mask.long().sum()
        nll_loss = nll_loss.sum() / num_active_elements
        smoothed_loss = smoothed_loss.sum() / (num_active_elements * log_probs.shape[-1])
        return (1 - self.epsilon) * nll_loss + self.epsilon * smoothed_loss


class Classifier(nn.Module):
    """A model of Hugging Face's kind."""

    def __init__(self):
        super().__init__()
        self.embeddings, self.dropout = nn.Embedding(20, 8, padding_idx=0), nn.Dropout(0.1)
        self.encoder = nn.Linear(8, 8)
        self.classifier = nn.Linear(8, 3)

    def forward(self, input_ids=None, attention_mask=None, labels=None, return_dict=None):
        return_dict = return_dict if return_dict is not None else True
        hidden = self.dropout(torch.tanh(self.encoder(self.embeddings(input_ids))))
        mask = attention_mask[..., None].to(hidden.dtype)
        logits = self.classifier((hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9))
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.view(-1, 3), labels.view(-1))
        if not return_dict:
            output = (logits,)
            return ((loss,) + output) if loss is not None else output
        return SequenceClassifierOutput(loss=loss, logits=logits)


def get_linear_schedule_with_warmup(optimizer, num_warmup_steps, num_training_steps):
    """Hugging Face's."""
    def lr_lambda(current_step):
        if current_step < num_warmup_steps:
            return float(current_step) / float(max(1, num_warmup_steps))
        return max(0.0, float(num_training_steps - current_step)
                   / float(max(1, num_training_steps - num_warmup_steps)))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda)


class HFTrainer:
    """Hugging Face's loop."""

    def __init__(self, model, args):
        self.model, self.args, self.state = model, args, TrainerState()
        decay = [p for n, p in model.named_parameters() if "bias" not in n]
        no_decay = [p for n, p in model.named_parameters() if "bias" in n]
        self.optimizer = torch.optim.AdamW(
            [{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}],
            lr=args.learning_rate)
        self.lr_scheduler = get_linear_schedule_with_warmup(self.optimizer, args.warmup_steps, 200)
        self.label_smoother = LabelSmoother(epsilon=args.label_smoothing_factor)
        self._total_loss_scalar, self._globalstep_last_logged = 0.0, 0
        self.tr_loss = torch.tensor(0.0)

    def _prepare_inputs(self, inputs):
        return {k: v.to("cpu") if isinstance(v, torch.Tensor) else v for k, v in inputs.items()}

    def compute_loss(self, model, inputs, return_outputs=False):
        """By the model or by the smoother."""
        if self.label_smoother is not None and "labels" in inputs:
            labels = inputs.pop("labels")
        else:
            labels = None
        outputs = model(**inputs)
        if labels is not None:
            loss = self.label_smoother(outputs, labels)
        else:
            loss = outputs["loss"] if isinstance(outputs, dict) else outputs[0]
        return (loss, outputs) if return_outputs else loss

    def training_step(self, model, inputs):
        """Forward and backward."""
        model.train()
        inputs = self._prepare_inputs(inputs)
        loss = self.compute_loss(model, inputs)
        if self.args.n_gpu > 1:
            loss = loss.mean()
        if self.args.gradient_accumulation_steps > 1:
            loss = loss / self.args.gradient_accumulation_steps
        loss.backward()
        return loss.detach()

    def inner_step(self, step, inputs):
        """One batch; every second one updates."""
        tr_loss_step = self.training_step(self.model, inputs)
        if torch.isnan(tr_loss_step) or torch.isinf(tr_loss_step):
            self.tr_loss += self.tr_loss / (1 + self.state.global_step
                                            - self._globalstep_last_logged)
        else:
            self.tr_loss += tr_loss_step
        if (step + 1) % self.args.gradient_accumulation_steps == 0:
            if self.args.max_grad_norm is not None and self.args.max_grad_norm > 0:
                nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_grad_norm)
            self.optimizer.step()
            self.lr_scheduler.step()
            self.model.zero_grad()
            self.state.global_step += 1
            self.state.epoch = self.state.global_step / 30

    def maybe_log(self):
        """Every few steps."""
        if (self.args.logging_strategy == IntervalStrategy.STEPS
                and self.state.global_step % self.args.logging_steps == 0):
            logs = {}
            tr_loss_scalar = self.tr_loss.mean().item()
            self.tr_loss -= self.tr_loss
            logs["loss"] = round(tr_loss_scalar / max(
                1, self.state.global_step - self._globalstep_last_logged), 4)
            logs["learning_rate"] = self.lr_scheduler.get_last_lr()[0]
            self._total_loss_scalar += tr_loss_scalar
            self._globalstep_last_logged = self.state.global_step
            self.state.log_history.append({**logs, "step": self.state.global_step})


def tokens_of(n, size):
    """Batches as a collator gives them."""
    for _ in range(n):
        ids = torch.randint(1, 20, (size, 6))
        mask = (torch.arange(6) < torch.randint(2, 7, (size, 1))).long()
        yield {"input_ids": ids * mask, "attention_mask": mask, "labels": ids[:, 0] % 3}


@loop
def hugging_face(trace):
    """A trainer's training_step with outputs that are dicts and dataclasses, a label smoother,
    accumulation, a warm-up; what it logs is outside."""
    trainer = HFTrainer(Classifier(), TrainingArguments())
    step = trace(trainer.inner_step)
    for i, inputs in enumerate(tokens_of(70, 4)):
        step(i % 10, inputs)
        trainer.maybe_log()
        yield trainer.tr_loss, trainer.state.global_step, trainer.state.log_history[-1:]


# ---- timm ----------------------------------------------------------------------------------------
class ModelEmaV2(nn.Module):
    """timm's moving average."""

    def __init__(self, model, decay=0.99):
        super().__init__()
        self.module = copy.deepcopy(model)
        self.module.eval()
        self.decay = decay

    def _update(self, model, update_fn):
        with torch.no_grad():
            for ema_v, model_v in zip(self.module.state_dict().values(),
                                      model.state_dict().values()):
                ema_v.copy_(update_fn(ema_v, model_v))

    def update(self, model):
        """Follow."""
        self._update(model, update_fn=lambda e, m: self.decay * e + (1. - self.decay) * m)


def one_hot(x, num_classes, on_value=1., off_value=0.):
    """timm's."""
    x = x.long().view(-1, 1)
    return torch.full((x.size()[0], num_classes), off_value).scatter_(1, x, on_value)


def mixup_target(target, num_classes, lam=1., smoothing=0.0):
    """timm's."""
    off_value = smoothing / num_classes
    on_value = 1. - smoothing + off_value
    y1 = one_hot(target, num_classes, on_value=on_value, off_value=off_value)
    y2 = one_hot(target.flip(0), num_classes, on_value=on_value, off_value=off_value)
    return y1 * lam + y2 * (1. - lam)


class Mixup:
    """timm's."""

    def __init__(self, mixup_alpha=0.8, prob=1.0, label_smoothing=0.1, num_classes=3):
        self.mixup_alpha, self.mix_prob = mixup_alpha, prob
        self.label_smoothing, self.num_classes = label_smoothing, num_classes
        self.mixup_enabled = True

    def _params_per_batch(self):
        lam = 1.
        if self.mixup_enabled and np.random.rand() < self.mix_prob:
            lam_mix = np.random.beta(self.mixup_alpha, self.mixup_alpha)
            lam = float(lam_mix)
        return lam

    def _mix_batch(self, x):
        lam = self._params_per_batch()
        if lam == 1.:
            return 1.
        x_flipped = x.flip(0).mul_(1. - lam)
        x.mul_(lam).add_(x_flipped)
        return lam

    def __call__(self, x, target):
        assert len(x) % 2 == 0, "Batch size should be even when using this"
        lam = self._mix_batch(x)
        return x, mixup_target(target, self.num_classes, lam, self.label_smoothing)


class SoftTargetCrossEntropy(nn.Module):
    """timm's."""

    def forward(self, x, target):
        return torch.sum(-target * F.log_softmax(x, dim=-1), dim=-1).mean()


class CosineLRScheduler:
    """timm's, by numbers of updates."""

    def __init__(self, optimizer, t_initial, warmup_t, warmup_lr_init, lr_min):
        self.optimizer, self.t_initial = optimizer, t_initial
        self.warmup_t, self.warmup_lr_init, self.lr_min = warmup_t, warmup_lr_init, lr_min
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_values = [group["initial_lr"] for group in optimizer.param_groups]
        self.warmup_steps = [(v - warmup_lr_init) / warmup_t for v in self.base_values]

    def _get_lr(self, t):
        if t < self.warmup_t:
            return [self.warmup_lr_init + t * s for s in self.warmup_steps]
        t = t - self.warmup_t
        return [self.lr_min + 0.5 * (lr_max - self.lr_min)
                * (1 + math.cos(math.pi * t / self.t_initial)) for lr_max in self.base_values]

    def step_update(self, num_updates, metric=None):
        """Set the rates."""
        for param_group, value in zip(self.optimizer.param_groups, self._get_lr(num_updates)):
            if "lr_scale" in param_group:
                param_group["lr"] = value * param_group["lr_scale"]
            else:
                param_group["lr"] = value


class NativeScaler:
    """timm's."""
    state_dict_key = "amp_scaler"

    def __init__(self):
        self._scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8)

    def __call__(self, loss, optimizer, clip_grad=None, parameters=None, need_update=True):
        self._scaler.scale(loss).backward()
        if need_update:
            if clip_grad is not None:
                assert parameters is not None
                self._scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(parameters, clip_grad)
            self._scaler.step(optimizer)
            self._scaler.update()


@loop
def timm(trace):
    """Mixup with NumPy's beta, autocast and a scaler, an EMA by state_dict, the scheduler by the
    count of updates, meters."""
    model = nn.Sequential(nn.Linear(8, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 3))
    model_ema, mixup_fn, loss_fn = ModelEmaV2(model), Mixup(), SoftTargetCrossEntropy()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    lr_scheduler, loss_scaler = CosineLRScheduler(optimizer, 60, 8, 1e-3, 1e-5), NativeScaler()
    losses_m, top1_m = AverageMeter("loss"), AverageMeter("top1")
    amp_autocast = lambda: torch.autocast("cpu", dtype=torch.bfloat16)        # noqa: E731
    num_updates = 0

    @trace
    def train_one_batch(input, target):
        nonlocal num_updates
        labels = target
        input, target = mixup_fn(input, target)
        with amp_autocast():
            output = model(input)
            loss = loss_fn(output, target)
        optimizer.zero_grad()
        loss_scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())
        model_ema.update(model)
        num_updates += 1
        losses_m.update(loss.item(), input.size(0))
        top1_m.update(accuracy(output, labels)[0].item(), output.size(0))
        lr_scheduler.step_update(num_updates=num_updates, metric=losses_m.avg)
        lrl = [param_group["lr"] for param_group in optimizer.param_groups]
        return sum(lrl) / len(lrl)
    for x, y in batches(*digits(), 8, 8):
        yield (train_one_batch(x.clone(), y), losses_m.avg, top1_m.val,
               model_ema.module[0].weight)
