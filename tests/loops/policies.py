"""Agents as Spinning Up and PyTorch's examples write them."""
import collections
import copy
import itertools
import time

import numpy as np
import whet as torch
import whet.nn as nn
import whet.nn.functional as F
import whet.optim as optim
from whet.distributions import Categorical, Normal

from .harness import loop
from .reinforcement import World


class EpochLogger:
    """Spinning Up's."""

    def __init__(self):
        self.epoch_dict = dict()

    def store(self, **kwargs):
        """Save something into the logger's current state."""
        for k, v in kwargs.items():
            if k not in self.epoch_dict.keys():
                self.epoch_dict[k] = []
            self.epoch_dict[k].append(v)


def combined_shape(length, shape=None):
    """Spinning Up's."""
    if shape is None:
        return (length,)
    return (length, shape) if np.isscalar(shape) else (length, *shape)


class SpinReplayBuffer:
    """Spinning Up's."""

    def __init__(self, obs_dim, act_dim, size):
        self.obs_buf = np.zeros(combined_shape(size, obs_dim), dtype=np.float32)
        self.obs2_buf = np.zeros(combined_shape(size, obs_dim), dtype=np.float32)
        self.act_buf = np.zeros(combined_shape(size, act_dim), dtype=np.float32)
        self.rew_buf = np.zeros(size, dtype=np.float32)
        self.done_buf = np.zeros(size, dtype=np.float32)
        self.ptr, self.size, self.max_size = 0, 0, size

    def store(self, obs, act, rew, next_obs, done):
        """One more."""
        self.obs_buf[self.ptr] = obs
        self.obs2_buf[self.ptr] = next_obs
        self.act_buf[self.ptr] = act
        self.rew_buf[self.ptr] = rew
        self.done_buf[self.ptr] = done
        self.ptr = (self.ptr + 1) % self.max_size
        self.size = min(self.size + 1, self.max_size)

    def sample_batch(self, batch_size=32):
        """Some of them."""
        idxs = np.random.randint(0, self.size, size=batch_size)
        batch = dict(obs=self.obs_buf[idxs], obs2=self.obs2_buf[idxs], act=self.act_buf[idxs],
                     rew=self.rew_buf[idxs], done=self.done_buf[idxs])
        return {k: torch.as_tensor(v, dtype=torch.float32) for k, v in batch.items()}


class SquashedGaussianMLPActor(nn.Module):
    """Spinning Up's."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.mu_layer, self.log_std_layer, self.act_limit = nn.Linear(8, 1), nn.Linear(8, 1), 1.0

    def forward(self, obs, deterministic=False, with_logprob=True):
        net_out = self.net(obs)
        mu = self.mu_layer(net_out)
        log_std = self.log_std_layer(net_out)
        log_std = torch.clamp(log_std, -20, 2)
        std = torch.exp(log_std)
        pi_distribution = Normal(mu, std)
        pi_action = mu if deterministic else pi_distribution.rsample()
        if with_logprob:
            logp_pi = pi_distribution.log_prob(pi_action).sum(axis=-1)
            logp_pi -= (2 * (np.log(2) - pi_action - F.softplus(-2 * pi_action))).sum(axis=1)
        else:
            logp_pi = None
        return self.act_limit * torch.tanh(pi_action), logp_pi


class MLPQFunction(nn.Module):
    """Spinning Up's."""

    def __init__(self):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, obs, act):
        q = self.q(torch.cat([obs, act], dim=-1))
        return torch.squeeze(q, -1)


class MLPActorCritic(nn.Module):
    """Spinning Up's."""

    def __init__(self):
        super().__init__()
        self.pi, self.q1, self.q2 = SquashedGaussianMLPActor(), MLPQFunction(), MLPQFunction()

    def act(self, obs, deterministic=False):
        """In the world."""
        with torch.no_grad():
            a, _ = self.pi(obs, deterministic, False)
            return a.numpy()


class SAC:
    """What Spinning Up's function has beside its loop."""

    def __init__(self, gamma=0.99, alpha=0.2, polyak=0.995):
        self.ac, self.gamma, self.alpha, self.polyak = MLPActorCritic(), gamma, alpha, polyak
        self.ac_targ, self.logger = copy.deepcopy(self.ac), EpochLogger()
        for p in self.ac_targ.parameters():
            p.requires_grad = False
        q_params = itertools.chain(self.ac.q1.parameters(), self.ac.q2.parameters())
        self.q_params = list(q_params)
        self.pi_optimizer = optim.Adam(self.ac.pi.parameters(), lr=1e-3)
        self.q_optimizer = optim.Adam(self.q_params, lr=1e-3)

    def compute_loss_q(self, data):
        """The critics'."""
        o, a, r, o2, d = data["obs"], data["act"], data["rew"], data["obs2"], data["done"]
        q1 = self.ac.q1(o, a)
        q2 = self.ac.q2(o, a)
        with torch.no_grad():
            a2, logp_a2 = self.ac.pi(o2)
            q1_pi_targ = self.ac_targ.q1(o2, a2)
            q2_pi_targ = self.ac_targ.q2(o2, a2)
            q_pi_targ = torch.min(q1_pi_targ, q2_pi_targ)
            backup = r + self.gamma * (1 - d) * (q_pi_targ - self.alpha * logp_a2)
        loss_q1 = ((q1 - backup)**2).mean()
        loss_q2 = ((q2 - backup)**2).mean()
        loss_q = loss_q1 + loss_q2
        q_info = dict(Q1Vals=q1.detach().numpy(), Q2Vals=q2.detach().numpy())
        return loss_q, q_info

    def compute_loss_pi(self, data):
        """The actor's."""
        o = data["obs"]
        pi, logp_pi = self.ac.pi(o)
        q1_pi = self.ac.q1(o, pi)
        q2_pi = self.ac.q2(o, pi)
        q_pi = torch.min(q1_pi, q2_pi)
        loss_pi = (self.alpha * logp_pi - q_pi).mean()
        pi_info = dict(LogPi=logp_pi.detach().numpy())
        return loss_pi, pi_info

    def update(self, data):
        """A step of all."""
        self.q_optimizer.zero_grad()
        loss_q, q_info = self.compute_loss_q(data)
        loss_q.backward()
        self.q_optimizer.step()
        self.logger.store(LossQ=loss_q.item(), **q_info)
        for p in self.q_params:
            p.requires_grad = False
        self.pi_optimizer.zero_grad()
        loss_pi, pi_info = self.compute_loss_pi(data)
        loss_pi.backward()
        self.pi_optimizer.step()
        for p in self.q_params:
            p.requires_grad = True
        self.logger.store(LossPi=loss_pi.item(), **pi_info)
        with torch.no_grad():
            for p, p_targ in zip(self.ac.parameters(), self.ac_targ.parameters()):
                p_targ.data.mul_(self.polyak)
                p_targ.data.add_((1 - self.polyak) * p.data)


@loop
def spinning_up_sac(trace):
    """Losses as functions that give a dict of arrays, which a logger stores; parameters frozen and
    thawed; a generator that is a chain."""
    sac, replay_buffer = SAC(), SpinReplayBuffer(obs_dim=4, act_dim=1, size=1000)
    update = trace(sac.update)
    env, start_time = World(), time.time()
    o = env.reset()
    for t in range(60):
        a = sac.ac.act(torch.as_tensor(o, dtype=torch.float32)) if t > 8 else np.array([0.5])
        o2, r, d = env.step(float(a[0]))
        replay_buffer.store(o, a, r, o2, d)
        o = env.reset() if d else o2
        if t >= 16:
            update(data=replay_buffer.sample_batch(16))
            yield ({k: v[-1] for k, v in sac.logger.epoch_dict.items()},
                   sac.ac_targ.pi.mu_layer.bias, time.time() < start_time)


SavedAction = collections.namedtuple("SavedAction", ["log_prob", "value"])


class Policy(nn.Module):
    """The actor-critic example's model, which keeps what it did."""

    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 16)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        action_prob = F.softmax(self.action_head(x), dim=-1)
        state_values = self.value_head(x)
        return action_prob, state_values


@loop
def example_actor_critic(trace):
    """An episode's end as a traced function: actions and rewards in lists of the model, which it
    computes again."""
    model = Policy()
    optimizer = optim.Adam(model.parameters(), lr=3e-2)
    eps = np.finfo(np.float32).eps.item()
    env = World()

    @trace
    def finish_episode(states, taken):
        R = 0
        policy_losses = []
        value_losses = []
        returns = []
        probs, state_values = model(states)
        m = Categorical(probs)
        saved_actions = [SavedAction(lp, v)
                         for lp, v in zip(m.log_prob(taken), state_values)]
        for r in model.rewards[::-1]:
            R = r + 0.99 * R
            returns.insert(0, R)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + eps)
        for (log_prob, value), R in zip(saved_actions, returns):
            advantage = R - value.item()
            policy_losses.append(-log_prob * advantage)
            value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
        optimizer.zero_grad()
        loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
        loss.backward()
        optimizer.step()
        return loss.item()

    running_reward = 10
    for _ in range(40):
        state, ep_reward, states, taken = env.reset(), 0, [], []
        for _t in range(6):
            states.append(state)
            with torch.no_grad():
                probs, _ = model(torch.from_numpy(state).float())
            action = Categorical(probs).sample()
            taken.append(action)
            state, reward, _ = env.step(action.item())
            model.rewards.append(float(reward))
            ep_reward += reward
        running_reward = 0.05 * ep_reward + (1 - 0.05) * running_reward
        loss = finish_episode(torch.as_tensor(np.stack(states)), torch.stack(taken))
        del model.rewards[:]
        yield loss, model.affine1.bias
