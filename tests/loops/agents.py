"""Agents as CleanRL, Stable Baselines, Spinning Up and PyTorch's examples write them."""
import collections
import copy
import random
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import whet as torch
import whet.nn as nn
import whet.nn.functional as F
import whet.optim as optim
from whet.distributions import Categorical

from .harness import loop
from .reinforcement import World


@dataclass
class Args:
    """What CleanRL reads from the command line."""
    learning_rate: float = 2.5e-3
    num_envs: int = 2
    num_steps: int = 8
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_coef: float = 0.2
    clip_vloss: bool = True
    norm_adv: bool = True
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float | None = None


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    """CleanRL's weights."""
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    """CleanRL's actor and critic."""

    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(4, 8)), nn.Tanh(),
                                    layer_init(nn.Linear(8, 1), std=1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(4, 8)), nn.Tanh(),
                                   layer_init(nn.Linear(8, 2), std=0.01))

    def get_value(self, x):
        """The critic."""
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        """Both."""
        logits = self.actor(x)
        probs = Categorical(logits=logits)
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


class Envs:
    """Several worlds at once."""

    def __init__(self, n):
        self.worlds = [World() for _ in range(n)]

    def reset(self):
        """Begin."""
        return np.stack([w.reset() for w in self.worlds])

    def step(self, actions):
        """Act in all."""
        done = [w.step(float(a)) for w, a in zip(self.worlds, actions)]
        obs = [w.reset() if d[2] else d[0] for w, d in zip(self.worlds, done)]
        return np.stack(obs), np.array([d[1] for d in done]), np.array([d[2] for d in done])


class PPO:
    """What CleanRL's script has beside its loop."""

    def __init__(self, args):
        self.args, self.agent, self.clipfracs = args, Agent(), []
        self.optimizer = optim.Adam(self.agent.parameters(), lr=args.learning_rate, eps=1e-5)
        self.obs = torch.zeros((args.num_steps, args.num_envs, 4))
        self.actions = torch.zeros((args.num_steps, args.num_envs))
        self.logprobs = torch.zeros((args.num_steps, args.num_envs))
        self.rewards = torch.zeros((args.num_steps, args.num_envs))
        self.dones = torch.zeros((args.num_steps, args.num_envs))
        self.values = torch.zeros((args.num_steps, args.num_envs))

    def rollout_step(self, step, next_obs, next_done):
        """Act in all worlds, and write down what was seen."""
        self.obs[step] = next_obs
        self.dones[step] = next_done
        with torch.no_grad():
            action, logprob, _, value = self.agent.get_action_and_value(next_obs)
            self.values[step] = value.flatten()
        self.actions[step] = action
        self.logprobs[step] = logprob
        return action.cpu().numpy()

    def advantages_of(self, next_obs, next_done):
        """By the generalised estimate."""
        args, values, dones, rewards = self.args, self.values, self.dones, self.rewards
        with torch.no_grad():
            next_value = self.agent.get_value(next_obs).reshape(1, -1)
            advantages = torch.zeros_like(rewards)
            lastgaelam = 0
            for t in reversed(range(args.num_steps)):
                if t == args.num_steps - 1:
                    nextnonterminal = 1.0 - next_done
                    nextvalues = next_value
                else:
                    nextnonterminal = 1.0 - dones[t + 1]
                    nextvalues = values[t + 1]
                delta = rewards[t] + args.gamma * nextvalues * nextnonterminal - values[t]
                advantages[t] = lastgaelam = (
                    delta + args.gamma * args.gae_lambda * nextnonterminal * lastgaelam)
            return advantages, advantages + values

    def value_loss(self, newvalue, b_returns, b_values):
        """Of the critic."""
        args = self.args
        if args.clip_vloss:
            v_loss_unclipped = (newvalue - b_returns) ** 2
            v_clipped = b_values + torch.clamp(newvalue - b_values, -args.clip_coef, args.clip_coef)
            v_loss_clipped = (v_clipped - b_returns) ** 2
            return 0.5 * torch.max(v_loss_unclipped, v_loss_clipped).mean()
        return 0.5 * ((newvalue - b_returns) ** 2).mean()

    def update(self, mb_inds, b_obs, b_actions, b_logprobs, b_advantages, b_returns, b_values):
        """Learn from a minibatch."""
        args = self.args
        _, newlogprob, entropy, newvalue = self.agent.get_action_and_value(
            b_obs[mb_inds], b_actions.long()[mb_inds])
        logratio = newlogprob - b_logprobs[mb_inds]
        ratio = logratio.exp()
        with torch.no_grad():
            old_approx_kl = (-logratio).mean()
            approx_kl = ((ratio - 1) - logratio).mean()
            self.clipfracs += [((ratio - 1.0).abs() > args.clip_coef).float().mean().item()]
        mb_advantages = b_advantages[mb_inds]
        if args.norm_adv:
            mb_advantages = (mb_advantages - mb_advantages.mean()) / (mb_advantages.std() + 1e-8)
        pg_loss1 = -mb_advantages * ratio
        pg_loss2 = -mb_advantages * torch.clamp(ratio, 1 - args.clip_coef, 1 + args.clip_coef)
        pg_loss = torch.max(pg_loss1, pg_loss2).mean()
        v_loss = self.value_loss(newvalue.view(-1), b_returns[mb_inds], b_values[mb_inds])
        entropy_loss = entropy.mean()
        loss = pg_loss - args.ent_coef * entropy_loss + v_loss * args.vf_coef
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.agent.parameters(), args.max_grad_norm)
        self.optimizer.step()
        return old_approx_kl, approx_kl, v_loss.item()

    def batch(self, advantages, returns):
        """All that was written down, flat."""
        return (self.obs.reshape((-1, 4)), self.actions.reshape(-1), self.logprobs.reshape(-1),
                advantages.reshape(-1), returns.reshape(-1), self.values.reshape(-1))


@loop
def cleanrl_ppo(trace):
    """Storage tensors that are written to at the step; the update's function over minibatches."""
    args = Args()
    envs, ppo = Envs(args.num_envs), PPO(args)
    rollout_step, update = trace(ppo.rollout_step), trace(ppo.update)
    advantages_of = trace(ppo.advantages_of)
    global_step, num_updates = 0, 12
    next_obs = torch.Tensor(envs.reset())
    next_done = torch.zeros(args.num_envs)
    for iteration in range(1, num_updates + 1):
        frac = 1.0 - (iteration - 1.0) / num_updates
        ppo.optimizer.param_groups[0]["lr"] = frac * args.learning_rate
        for step in range(0, args.num_steps):
            global_step += args.num_envs
            action = rollout_step(step, next_obs, next_done)
            yield action, ppo.obs, ppo.logprobs, ppo.values
            next_obs, reward, next_done = envs.step(action)
            ppo.rewards[step] = torch.tensor(reward).view(-1)
            next_obs, next_done = torch.Tensor(next_obs), torch.Tensor(next_done)
        advantages, returns = advantages_of(next_obs, next_done)
        yield advantages, returns
        batch = ppo.batch(advantages, returns)
        b_inds = np.arange(args.num_steps * args.num_envs)
        for _ in range(2):
            np.random.shuffle(b_inds)
            for start in range(0, len(b_inds), 4):
                yield update(b_inds[start:start + 4], *batch)


class ReplayBufferSamples(NamedTuple):
    """What Stable Baselines' buffers give."""
    observations: torch.Tensor
    actions: torch.Tensor
    next_observations: torch.Tensor
    dones: torch.Tensor
    rewards: torch.Tensor


class SBReplayBuffer:
    """Stable Baselines' buffer."""

    def __init__(self, buffer_size, n_envs=1):
        self.buffer_size, self.n_envs, self.pos, self.full = buffer_size, n_envs, 0, False
        self.observations = np.zeros((buffer_size, n_envs, 4), dtype=np.float32)
        self.next_observations = np.zeros((buffer_size, n_envs, 4), dtype=np.float32)
        self.actions = np.zeros((buffer_size, n_envs, 1), dtype=np.int64)
        self.rewards = np.zeros((buffer_size, n_envs), dtype=np.float32)
        self.dones = np.zeros((buffer_size, n_envs), dtype=np.float32)

    def size(self):
        """How many."""
        return self.buffer_size if self.full else self.pos

    def add(self, obs, next_obs, action, reward, done):
        """One more."""
        self.observations[self.pos] = np.array(obs)
        self.next_observations[self.pos] = np.array(next_obs)
        self.actions[self.pos] = np.array(action)
        self.rewards[self.pos] = np.array(reward)
        self.dones[self.pos] = np.array(done)
        self.pos += 1
        if self.pos == self.buffer_size:
            self.full = True
            self.pos = 0

    def sample(self, batch_size):
        """Some of them."""
        upper_bound = self.buffer_size if self.full else self.pos
        batch_inds = np.random.randint(0, upper_bound, size=batch_size)
        return self._get_samples(batch_inds)

    def _get_samples(self, batch_inds):
        env_indices = np.random.randint(0, high=self.n_envs, size=(len(batch_inds),))
        data = (self.observations[batch_inds, env_indices, :],
                self.actions[batch_inds, env_indices, :],
                self.next_observations[batch_inds, env_indices, :],
                self.dones[batch_inds, env_indices].reshape(-1, 1),
                self.rewards[batch_inds, env_indices].reshape(-1, 1))
        return ReplayBufferSamples(*tuple(map(self.to_torch, data)))

    def to_torch(self, array, copy=True):
        """A tensor of it."""
        if copy:
            return torch.tensor(array)
        return torch.as_tensor(array)


class SBLogger:
    """Stable Baselines' values by name."""

    def __init__(self):
        self.name_to_value = collections.defaultdict(float)
        self.name_to_count = collections.defaultdict(int)
        self.name_to_excluded = {}

    def record(self, key, value, exclude=None):
        """The last value."""
        self.name_to_value[key] = value
        self.name_to_excluded[key] = exclude

    def record_mean(self, key, value, exclude=None):
        """The mean of all."""
        if value is None:
            return
        old_val, count = self.name_to_value[key], self.name_to_count[key]
        self.name_to_value[key] = old_val * count / (count + 1) + value / (count + 1)
        self.name_to_count[key] = count + 1
        self.name_to_excluded[key] = exclude


def polyak_update(params, target_params, tau):
    """Stable Baselines' moving average."""
    with torch.no_grad():
        for param, target_param in zip(params, target_params, strict=True):
            target_param.data.mul_(1 - tau)
            torch.add(target_param.data, param.data, alpha=tau, out=target_param.data)


class DQN:
    """Stable Baselines' class of an algorithm."""

    def __init__(self, exploration_fraction=0.5):
        self.q_net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.q_net_target = copy.deepcopy(self.q_net)
        self.optimizer = optim.Adam(self.q_net.parameters(), lr=1e-3)
        self.replay_buffer, self.logger = SBReplayBuffer(64), SBLogger()
        self.gamma, self.tau, self.max_grad_norm = 0.99, 0.05, 10
        self._n_updates, self._n_calls, self.target_update_interval = 0, 0, 4
        self._current_progress_remaining = 1.0
        self.lr_schedule = lambda progress_remaining: progress_remaining * 1e-3

    def _update_learning_rate(self, optimizers):
        self.logger.record("train/learning_rate",
                           self.lr_schedule(self._current_progress_remaining))
        if not isinstance(optimizers, list):
            optimizers = [optimizers]
        for optimizer in optimizers:
            for param_group in optimizer.param_groups:
                param_group["lr"] = self.lr_schedule(self._current_progress_remaining)

    def train(self, gradient_steps, batch_size=16):
        """Some steps."""
        self.q_net.train(True)
        self._update_learning_rate(self.optimizer)
        losses = []
        for _ in range(gradient_steps):
            replay_data = self.replay_buffer.sample(batch_size)
            with torch.no_grad():
                next_q_values = self.q_net_target(replay_data.next_observations)
                next_q_values, _ = next_q_values.max(dim=1)
                next_q_values = next_q_values.reshape(-1, 1)
                target_q_values = (replay_data.rewards
                                   + (1 - replay_data.dones) * self.gamma * next_q_values)
            current_q_values = self.q_net(replay_data.observations)
            current_q_values = torch.gather(current_q_values, dim=1,
                                            index=replay_data.actions.long())
            loss = F.smooth_l1_loss(current_q_values, target_q_values)
            losses.append(loss.item())
            self.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.q_net.parameters(), self.max_grad_norm)
            self.optimizer.step()
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", np.mean(losses))

    def on_step(self):
        """Follow, at times."""
        self._n_calls += 1
        if self._n_calls % self.target_update_interval == 0:
            polyak_update(self.q_net.parameters(), self.q_net_target.parameters(), self.tau)


@loop
def stable_baselines_dqn(trace):
    """A method of an algorithm with a buffer, a schedule, a logger and counters."""
    model, env = DQN(), World()
    train, on_step = trace(model.train), trace(model.on_step)
    obs = env.reset()
    for i in range(70):
        action = random.randrange(2) if random.random() < 0.3 else int(
            model.q_net(torch.as_tensor(obs)).argmax())
        new, reward, done = env.step(action)
        model.replay_buffer.add(obs, new, action, reward, done)
        obs = env.reset() if done else new
        if i >= 20:
            model._current_progress_remaining = 1 - i / 70
            train(1)
            on_step()
            yield (dict(model.logger.name_to_value), model._n_updates,
                   model.q_net_target[0].bias)


class RolloutBuffer:
    """Stable Baselines' buffer of rollouts."""

    def __init__(self, size):
        self.buffer_size = size
        self.reset()

    def reset(self):
        """Begin again."""
        self.observations = np.zeros((self.buffer_size, 4), dtype=np.float32)
        self.actions = np.zeros((self.buffer_size, 1), dtype=np.float32)
        self.rewards = np.zeros((self.buffer_size,), dtype=np.float32)
        self.returns = np.zeros((self.buffer_size,), dtype=np.float32)
        self.values = np.zeros((self.buffer_size,), dtype=np.float32)
        self.advantages = np.zeros((self.buffer_size,), dtype=np.float32)
        self.pos, self.full = 0, False

    def add(self, obs, action, reward, value):
        """One more."""
        self.observations[self.pos] = np.array(obs)
        self.actions[self.pos] = np.array(action)
        self.rewards[self.pos] = reward
        self.values[self.pos] = value.clone().cpu().numpy().flatten()[0]
        self.pos += 1
        if self.pos == self.buffer_size:
            self.full = True

    def compute_returns_and_advantage(self, last_values, gamma=0.99, gae_lambda=0.95):
        """By the generalised estimate."""
        last_values = last_values.clone().cpu().numpy().flatten()
        last_gae_lam = 0
        for step in reversed(range(self.buffer_size)):
            next_values = last_values[0] if step == self.buffer_size - 1 else self.values[step + 1]
            delta = self.rewards[step] + gamma * next_values - self.values[step]
            last_gae_lam = delta + gamma * gae_lambda * last_gae_lam
            self.advantages[step] = last_gae_lam
        self.returns = self.advantages + self.values

    def get(self, batch_size=None):
        """Minibatches."""
        assert self.full, ""
        indices = np.random.permutation(self.buffer_size)
        batch_size = batch_size or self.buffer_size
        start_idx = 0
        while start_idx < self.buffer_size:
            inds = indices[start_idx:start_idx + batch_size]
            yield tuple(torch.as_tensor(x[inds]) for x in (
                self.observations, self.actions, self.values, self.advantages, self.returns))
            start_idx += batch_size


@loop
def stable_baselines_a2c(trace):
    """A generator over a buffer of arrays that are made anew, inside of the traced method."""
    policy, env, buffer, logger = Agent(), World(), RolloutBuffer(8), SBLogger()
    optimizer = optim.RMSprop(policy.parameters(), lr=1e-2, alpha=0.99, eps=1e-5)

    @trace
    def train():
        for observations, actions, _, advantages, returns in buffer.get(batch_size=None):
            actions = actions.long().flatten()
            _, log_prob, entropy, values = policy.get_action_and_value(observations, actions)
            values = values.flatten()
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            policy_loss = -(advantages * log_prob).mean()
            value_loss = F.mse_loss(returns, values)
            if entropy is None:
                entropy_loss = -torch.mean(-log_prob)
            else:
                entropy_loss = -torch.mean(entropy)
            loss = policy_loss + 0.01 * entropy_loss + 0.5 * value_loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
        explained_var = 1 - np.var(buffer.returns - buffer.values) / np.var(buffer.returns)
        logger.record("train/explained_variance", float(explained_var))
        logger.record("train/entropy_loss", entropy_loss.item())
        logger.record("train/policy_loss", policy_loss.item())
        logger.record("train/value_loss", value_loss.item())
    obs = env.reset()
    for _ in range(30):
        buffer.reset()
        for _ in range(8):
            with torch.no_grad():
                action, _, _, value = policy.get_action_and_value(torch.as_tensor(obs)[None])
            new, reward, done = env.step(float(action))
            buffer.add(obs, action, reward, value)
            obs = env.reset() if done else new
        with torch.no_grad():
            buffer.compute_returns_and_advantage(policy.get_value(torch.as_tensor(obs)[None]))
        train()
        yield dict(logger.name_to_value), policy.actor[0].bias
