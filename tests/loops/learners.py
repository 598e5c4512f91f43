"""Learners with callbacks: fast.ai and Lightning."""
import collections
import contextlib
import math
import types

import whet as torch
import whet.nn as nn
import whet.nn.functional as F

from .harness import loop
from .supervised import batches, digits, mlp


# ---- fast.ai -------------------------------------------------------------------------------------
class CancelBatchException(Exception):
    """The rest of the batch is left out."""


class Callback:
    """What a Learner calls by name."""
    order = 0

    def __call__(self, name):
        getattr(self, name, lambda: None)()

    def __getattr__(self, k):
        if k.startswith("_") or k == "learn":
            raise AttributeError(k)
        return getattr(self.learn, k)


class TrainEvalCallback(Callback):
    """Counts."""

    def before_fit(self):
        """Once."""
        self.learn.train_iter, self.learn.pct_train = 0, 0.0

    def after_batch(self):
        """Each time."""
        self.learn.pct_train += 1.0 / (self.n_iter * self.n_epoch)
        self.learn.train_iter += 1


class ParamScheduler(Callback):
    """Hyper-parameters by what of the training is over."""
    order = 60

    def __init__(self, scheds):
        self.scheds, self.hps = scheds, collections.defaultdict(list)

    def before_batch(self):
        """Set them."""
        for n, f in self.scheds.items():
            for h in self.opt.param_groups:
                h[n] = f(self.pct_train)

    def after_batch(self):
        """Note them."""
        for p in self.scheds:
            self.hps[p].append(self.opt.param_groups[-1][p])


class AvgSmoothLoss:
    """Smoothed by a beta."""

    def __init__(self, beta=0.98):
        self.beta, self.count, self.val = beta, 0, torch.tensor(0.0)

    def accumulate(self, learn):
        """One more."""
        self.count += 1
        self.val = torch.lerp(learn.loss.detach().mean(), self.val, self.beta)

    @property
    def value(self):
        """Without its bias."""
        return self.val / (1 - self.beta**self.count)


class Recorder(Callback):
    """Losses and rates."""
    order = 50

    def __init__(self):
        self.lrs, self.iters, self.losses, self.smooth_loss = [], [], [], AvgSmoothLoss()

    def after_batch(self):
        """Note them."""
        self.smooth_loss.accumulate(self.learn)
        self.lrs.append(self.opt.param_groups[-1]["lr"])
        self.losses.append(self.smooth_loss.value)


class MixUp(Callback):
    """Mixes the batch with itself."""
    order = 90

    def before_batch(self):
        """Before it is used."""
        lam = torch.distributions.Beta(0.4, 0.4).sample((self.y.size(0),))
        lam = torch.stack([lam, 1 - lam], 1)
        self.lam = lam.max(1)[0]
        shuffle = torch.randperm(self.y.size(0))
        self.learn.yb1 = self.y[shuffle]
        self.learn.xb = torch.lerp(self.xb[shuffle], self.xb, self.lam[:, None])

    def after_loss(self):
        """Both targets."""
        loss = F.cross_entropy(self.pred, self.yb1, reduction="none")
        self.learn.loss_grad = torch.lerp(
            loss, F.cross_entropy(self.pred, self.y, reduction="none"), self.lam).mean()
        self.learn.loss = self.learn.loss_grad.clone()


class GradientClip(Callback):
    """By norm."""

    def before_step(self):
        """Before the optimizer."""
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)


class Learner:
    """Calls callbacks by the names of events."""

    def __init__(self, model, opt, cbs, n_iter, n_epoch):
        self.model, self.opt, self.n_iter, self.n_epoch = model, opt, n_iter, n_epoch
        self.cbs = sorted(cbs, key=lambda cb: cb.order)
        for cb in self.cbs:
            cb.learn = self
        self.training = True

    def __call__(self, name):
        for cb in self.cbs:
            cb(name)

    def _with_events(self, f, event_type, ex, final=lambda: None):
        try:
            self(f"before_{event_type}")
            f()
        except ex:
            self(f"after_cancel_{event_type}")
        self(f"after_{event_type}")
        final()

    def _do_one_batch(self):
        self.pred = self.model(self.xb)
        self("after_pred")
        self.loss_grad = F.cross_entropy(self.pred, self.y)
        self.loss = self.loss_grad.clone()
        self("after_loss")
        if not self.training:
            raise CancelBatchException
        self("before_backward")
        self.loss_grad.backward()
        self("before_step")
        self.opt.step()
        self("after_step")
        self.opt.zero_grad()

    def one_batch(self, i, b):
        """One batch."""
        self.iter = i
        self.xb, self.y = b
        self._with_events(self._do_one_batch, "batch", CancelBatchException)


def sched_cos(start, end):
    """fast.ai's."""
    return lambda pos: start + (1 + math.cos(math.pi * (1 - pos))) * (end - start) / 2


@loop
def fastai_learner(trace):
    """Events by name, exceptions that cancel, attributes that are asked of another, mixup, a
    schedule by the share of the training that is over."""
    model = mlp()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    sched, recorder = ParamScheduler({"lr": sched_cos(1e-3, 1e-2)}), Recorder()
    learn = Learner(model, opt, [TrainEvalCallback(), sched, recorder, MixUp(), GradientClip()],
                    6, 8)
    one_batch = trace(learn.one_batch)
    learn("before_fit")
    for i, b in enumerate(batches(*digits(), 8, 8)):
        one_batch(i % 6, b)
        yield recorder.losses[-1], sched.hps["lr"][-1], learn.pct_train, model[0].weight


# ---- Lightning -----------------------------------------------------------------------------------
class LightningModule(nn.Module):
    """The part of it that a step needs."""

    def __init__(self):
        super().__init__()
        self.trainer = types.SimpleNamespace(
            callback_metrics={}, logged_metrics={}, progress_bar_metrics={}, global_step=0)

    @property
    def global_step(self):
        """Of the trainer."""
        return self.trainer.global_step

    def log(self, name, value, prog_bar=False, logger=True, on_step=None):
        """A value under a name."""
        if isinstance(value, torch.Tensor):
            value = value.detach().clone()
        else:
            value = torch.tensor(value, dtype=torch.get_default_dtype())
        if prog_bar:
            self.trainer.progress_bar_metrics[name] = value.item()
        if logger:
            self.trainer.logged_metrics[name] = value
        self.trainer.callback_metrics[name] = value

    def log_dict(self, dictionary, **kwargs):
        """Several."""
        for k, v in dictionary.items():
            self.log(name=k, value=v, **kwargs)

    @contextlib.contextmanager
    def toggle_optimizer(self, optimizer):
        """Only its parameters require gradients."""
        states = {}
        for opt in self.optimizers():
            for group in opt.param_groups:
                for param in group["params"]:
                    states[param] = param.requires_grad
                    param.requires_grad = False
        for group in optimizer.param_groups:
            for param in group["params"]:
                param.requires_grad = states[param]
        yield
        for param, was in states.items():
            param.requires_grad = was


class LitClassifier(LightningModule):
    """Automatic optimization."""

    def __init__(self, lr=1e-2):
        super().__init__()
        self.hparams = types.SimpleNamespace(lr=lr)
        self.model, self.criterion = mlp(), nn.CrossEntropyLoss()
        self.training_step_outputs = collections.deque(maxlen=4)

    def forward(self, x):
        return self.model(x)

    def training_step(self, batch, batch_idx):
        """The loss."""
        x, y = batch
        logits = self(x)
        loss = self.criterion(logits, y)
        preds = torch.argmax(logits, dim=1)
        self.log("train_loss", loss, prog_bar=True)
        self.log_dict({"train_acc": (preds == y).float().mean(), "batch_size": float(len(y))})
        self.training_step_outputs.append(preds)
        return {"loss": loss, "preds": preds}

    def configure_optimizers(self):
        """With a scheduler that goes by steps."""
        optimizer = torch.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[20, 40])
        return {"optimizer": optimizer,
                "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


class Trainer:
    """Lightning's loop."""

    def __init__(self, model):
        self.model, conf = model, model.configure_optimizers()
        self.optimizer, self.lr_scheduler = conf["optimizer"], conf["lr_scheduler"]
        model.optimizers = lambda: [self.optimizer]

    def run_batch(self, batch, batch_idx):
        """One batch: the optimizer is given a closure."""
        output = None

        def closure():
            nonlocal output
            output = self.model.training_step(batch, batch_idx)
            self.optimizer.zero_grad()
            output["loss"].backward()
            return output["loss"]
        self.optimizer.step(closure)
        if self.lr_scheduler["interval"] == "step":
            self.lr_scheduler["scheduler"].step()
        self.model.trainer.global_step += 1
        return {k: v.detach() for k, v in output.items()}


@loop
def lightning(trace):
    """training_step in a closure that the optimizer calls, values that are logged by name."""
    model = LitClassifier()
    trainer = Trainer(model)
    run_batch = trace(trainer.run_batch)
    for i, batch in enumerate(batches(*digits(), 8, 10)):
        yield run_batch(batch, i % 6), dict(model.trainer.logged_metrics), model.global_step


class GAN(LightningModule):
    """Manual optimization."""

    def __init__(self):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 4))
        self.discriminator = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
        self._optimizers = [torch.optim.Adam(m.parameters(), lr=2e-3, betas=(0.5, 0.999))
                            for m in (self.generator, self.discriminator)]

    def optimizers(self):
        """Both."""
        return self._optimizers

    def adversarial_loss(self, y_hat, y):
        """Of the discriminator's answer."""
        return F.binary_cross_entropy_with_logits(y_hat, y)

    def training_step(self, imgs):
        """Both players."""
        optimizer_g, optimizer_d = self.optimizers()
        z = torch.randn(imgs.shape[0], 3).type_as(imgs)
        with self.toggle_optimizer(optimizer_g):
            self.generated_imgs = self.generator(z)
            valid = torch.ones(imgs.size(0), 1).type_as(imgs)
            g_loss = self.adversarial_loss(self.discriminator(self.generated_imgs), valid)
            self.log("g_loss", g_loss, prog_bar=True)
            g_loss.backward()
            optimizer_g.step()
            optimizer_g.zero_grad()
        with self.toggle_optimizer(optimizer_d):
            valid = torch.ones(imgs.size(0), 1).type_as(imgs)
            real_loss = self.adversarial_loss(self.discriminator(imgs), valid)
            fake = torch.zeros(imgs.size(0), 1).type_as(imgs)
            fake_loss = self.adversarial_loss(
                self.discriminator(self.generator(z).detach()), fake)
            d_loss = (real_loss + fake_loss) / 2
            self.log("d_loss", d_loss, prog_bar=True)
            d_loss.backward()
            optimizer_d.step()
            optimizer_d.zero_grad()
        self.trainer.global_step += 2


@loop
def lightning_gan(trace):
    """Two optimizers by hand, whose parameters are frozen and thawed by a context manager."""
    model = GAN()
    step = trace(model.training_step)
    for imgs in torch.randn(45, 8, 4):
        step(imgs)
        yield dict(model.trainer.progress_bar_metrics), model.global_step, model.generated_imgs
