"""Agents that learn from replay buffers and rollouts in NumPy."""
import collections
import random

import numpy as np
import whet as torch
import whet.nn.functional as F
from whet import nn

from .harness import loop


class ReplayBuffer:
    """Transitions in arrays (as of Spinning Up and CleanRL)."""

    def __init__(self, size, obs, act=1):
        self.obs, self.next_obs = (np.zeros((size, obs),
                                            np.float32), np.zeros((size, obs), np.float32))
        self.actions, self.rewards, self.dones = (np.zeros(
            (size, act), np.float32), np.zeros(size, np.float32), np.zeros(size, np.float32))
        self.ptr, self.size, self.max_size = 0, 0, size

    def store(self, obs, act, rew, next_obs, done):
        """One more."""
        self.obs[self.ptr], self.next_obs[self.ptr], self.actions[self.ptr] = obs, next_obs, act
        self.rewards[self.ptr], self.dones[self.ptr] = rew, done
        self.ptr, self.size = (self.ptr + 1) % self.max_size, min(self.size + 1, self.max_size)

    def sample_batch(self, batch_size=16):
        """Some of them."""
        idxs = np.random.randint(0, self.size, size=batch_size)
        return dict(obs=self.obs[idxs],
                    obs2=self.next_obs[idxs],
                    act=self.actions[idxs],
                    rew=self.rewards[idxs],
                    done=self.dones[idxs])


class World:
    """A point that is to be kept near the middle."""

    def __init__(self):
        self.rng = np.random.default_rng(3)
        self.reset()

    def reset(self):
        """Begin."""
        self.at = self.rng.normal(size=4).astype(np.float32)
        return self.at.copy()

    def step(self, action):
        """(observation, reward, done)"""
        self.at = (self.at * 0.9 + 0.1 * float(action) + 0.1 * self.rng.normal(size=4)).astype(
            np.float32)
        return self.at.copy(), -float((self.at ** 2).sum()), bool(self.rng.random() < 0.1)


def mlp(*sizes, last=nn.Identity):
    """Layers."""
    layers = []
    for i in range(len(sizes) - 1):
        layers += [nn.Linear(sizes[i], sizes[i + 1]), nn.ReLU() if i < len(sizes) - 2 else last()]
    return nn.Sequential(*layers)


@loop
def dqn_of_the_tutorial(trace):
    """PyTorch's tutorial: a deque of named tuples, batches by cat, a soft update of the target
    net."""
    Transition = collections.namedtuple("Transition", ("state", "action", "next_state", "reward"))
    memory, env = collections.deque([], maxlen=200), World()
    policy_net, target_net = mlp(4, 16, 2), mlp(4, 16, 2)
    target_net.load_state_dict(policy_net.state_dict())
    optimizer = torch.optim.AdamW(policy_net.parameters(), lr=1e-3, amsgrad=True)

    @trace
    def optimize(state_batch, action_batch, reward_batch, next_states, mask):
        state_action_values = policy_net(state_batch).gather(1, action_batch)
        next_state_values = torch.zeros(16)
        with torch.no_grad():
            next_state_values = torch.where(mask,
                                            target_net(next_states).max(1).values,
                                            next_state_values)
        expected = next_state_values * 0.99 + reward_batch
        loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy_net.parameters(), 100)
        optimizer.step()
        target, policy = target_net.state_dict(), policy_net.state_dict()
        for key in policy:
            target[key] = policy[key] * 0.005 + target[key] * 0.995
        target_net.load_state_dict(target)
        return loss.item()
    state = torch.tensor(env.reset()).unsqueeze(0)
    for _ in range(60):
        with torch.no_grad():
            action = (policy_net(state).max(1).indices.view(1, 1)
                      if random.random() > 0.3 else torch.tensor([[random.randrange(2)]]))
        obs, reward, done = env.step(2 * action.item() - 1)
        following = torch.tensor(obs).unsqueeze(0)
        memory.append(
            Transition(state, action, following, torch.tensor([reward], dtype=torch.float32)))
        state = following
        if len(memory) >= 16:
            batch = Transition(*zip(*random.sample(memory, 16)))
            yield optimize(torch.cat(batch.state),
                           torch.cat(batch.action),
                           torch.cat(batch.reward),
                           torch.cat(batch.next_state),
                           torch.rand(16) > 0.1)


@loop
def dqn_with_numpy(trace):
    """CleanRL's kind: the batch comes as arrays, the target net is copied every tenth time,
    metrics go into a dict."""
    q, target, env, buffer = mlp(4, 16, 2), mlp(4, 16, 2), World(), ReplayBuffer(200, 4)
    target.load_state_dict(q.state_dict())
    optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
    metrics = {}

    @trace
    def update(data):
        obs, act = torch.as_tensor(data["obs"]), torch.as_tensor(data["act"]).long()
        with torch.no_grad():
            target_max, _ = target(torch.as_tensor(data["obs2"])).max(dim=1)
            td_target = (torch.from_numpy(data["rew"]) + 0.99 * target_max *
                         (1 - torch.from_numpy(data["done"])))
        old_val = q(obs).gather(1, act).squeeze()
        loss = F.mse_loss(td_target, old_val)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        metrics["td_loss"], metrics["q_values"] = loss.item(), old_val.mean().item()
    obs = env.reset()
    for n in range(70):
        action = (np.random.randint(2)
                  if np.random.random() < 0.2 else q(torch.as_tensor(obs)).argmax().item())
        obs2, reward, done = env.step(2 * action - 1)
        buffer.store(obs, action, reward, obs2, done)
        obs = env.reset() if done else obs2
        if n >= 16:
            update(buffer.sample_batch())
            if n % 10 == 0:
                target.load_state_dict(q.state_dict())
            yield dict(metrics)


def rollout(env, actor, obs, steps):
    """(observation, action, log probability, reward) of each step, and where it ends."""
    rows = []
    for _ in range(steps):
        with torch.no_grad():
            dist = torch.distributions.Categorical(logits=actor(torch.as_tensor(obs)))
            action = dist.sample()
        rows.append((obs, action.item(), dist.log_prob(action).item()))
        obs, reward, done = env.step(2 * action.item() - 1)
        rows[-1] += (reward,)
    return rows, obs


@loop
def ppo(trace):
    """CleanRL's PPO: minibatches by NumPy indices, clip fractions in a list, KL, entropies, an
    annealed learning rate."""
    actor, critic, env = mlp(4, 16, 2), mlp(4, 16, 1), World()
    params = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(params, lr=2.5e-3, eps=1e-5)
    batch, minibatch, clip_coef = 32, 8, 0.2

    @trace
    def update(mb_inds, b_obs, b_actions, b_logprobs, b_advantages, b_returns):
        dist = torch.distributions.Categorical(logits=actor(b_obs[mb_inds]))
        newlogprob, entropy = dist.log_prob(b_actions[mb_inds]), dist.entropy()
        newvalue = critic(b_obs[mb_inds])
        logratio = newlogprob - b_logprobs[mb_inds]
        ratio = logratio.exp()
        with torch.no_grad():
            approx_kl = ((ratio - 1) - logratio).mean()
            clipfrac = ((ratio - 1.0).abs() > clip_coef).float().mean().item()
        mb_advantages = b_advantages[mb_inds]
        mb_advantages = (mb_advantages - mb_advantages.mean()) / (mb_advantages.std() + 1e-8)
        pg_loss = torch.max(-mb_advantages * ratio,
                            -mb_advantages
                            * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)).mean()
        v_loss = 0.5 * ((newvalue.view(-1) - b_returns[mb_inds]) ** 2).mean()
        loss = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 0.5)
        optimizer.step()
        return clipfrac, approx_kl.item(), v_loss.item()
    obs, b_inds = env.reset(), np.arange(batch)
    for iteration in range(1, 6):
        optimizer.param_groups[0]["lr"] = (1.0 - (iteration - 1.0) / 5) * 2.5e-3
        rows, obs = rollout(env, actor, obs, batch)
        b_obs = torch.as_tensor(np.array([r[0] for r in rows]))
        b_actions, b_logprobs = (torch.tensor([r[1]
                                               for r in rows]), torch.tensor([r[2] for r in rows]))
        b_returns = torch.tensor([r[3] for r in rows], dtype=torch.float32)
        with torch.no_grad():
            b_advantages = b_returns - critic(b_obs).view(-1)
        for _ in range(3):
            np.random.shuffle(b_inds)
            for start in range(0, batch, minibatch):
                yield update(b_inds[start:start + minibatch], b_obs, b_actions, b_logprobs,
                             b_advantages, b_returns)


def squashed(policy, o):
    """An action of a squashed Gaussian, and its log probability."""
    mu, log_std = policy(o).chunk(2, -1)
    dist = torch.distributions.Normal(mu, log_std.clamp(-20, 2).exp())
    u = dist.rsample()
    return torch.tanh(u), (dist.log_prob(u) - 2 * (np.log(2) - u - F.softplus(-2 * u))).sum(-1)


def q_of(net, o, a):
    return net(torch.cat([o, a], -1)).squeeze(-1)


def follow(net, target):
    """A step of the Polyak average."""
    for p, p_targ in zip(net.parameters(), target.parameters()):
        p_targ.data.mul_(0.995)
        p_targ.data.add_((1 - 0.995) * p.data)


def descend(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@loop
def sac(trace):
    """Spinning Up's SAC: two critics, a squashed Gaussian policy, an entropy that is tuned,
    Polyak averages of the targets."""
    env, buffer = World(), ReplayBuffer(200, 4)
    q1, q2, t1, t2, policy = (mlp(5, 16, 1), mlp(5, 16, 1), mlp(5, 16, 1), mlp(5, 16, 1),
                              mlp(4, 16, 2))
    t1.load_state_dict(q1.state_dict()), t2.load_state_dict(q2.state_dict())
    log_alpha = torch.zeros(1, requires_grad=True)
    pi_opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
    q_opt, a_opt = (torch.optim.Adam([*q1.parameters(), *q2.parameters()],
                                     lr=1e-3), torch.optim.Adam([log_alpha], lr=1e-3))
    log = collections.defaultdict(list)

    @trace
    def update(data):
        data = {k: torch.as_tensor(v, dtype=torch.float32) for k, v in data.items()}
        o, a, r, o2, d = data["obs"], data["act"], data["rew"], data["obs2"], data["done"]
        alpha = log_alpha.exp().detach()
        with torch.no_grad():
            a2, logp2 = squashed(policy, o2)
            backup = (r + 0.99 * (1 - d) *
                      (torch.min(q_of(t1, o2, a2), q_of(t2, o2, a2)) - alpha * logp2))
        q_loss = ((q_of(q1, o, a) - backup) ** 2).mean() + ((q_of(q2, o, a) - backup) ** 2).mean()
        descend(q_opt, q_loss)
        for p in [*q1.parameters(), *q2.parameters()]:
            p.requires_grad = False
        pi, logp = squashed(policy, o)
        pi_loss = (alpha * logp - torch.min(q_of(q1, o, pi), q_of(q2, o, pi))).mean()
        descend(pi_opt, pi_loss)
        for p in [*q1.parameters(), *q2.parameters()]:
            p.requires_grad = True
        descend(a_opt, -(log_alpha.exp() * (logp + -1.0).detach()).mean())
        with torch.no_grad():
            follow(q1, t1)
            follow(q2, t2)
        log["LossQ"].append(q_loss.item())
        return q_loss.item(), pi_loss.item()
    obs = env.reset()
    for n in range(60):
        with torch.no_grad():
            action = squashed(policy, torch.as_tensor(obs))[0].numpy()
        obs2, reward, done = env.step(action[0])
        buffer.store(obs, action, reward, obs2, done)
        obs = obs2
        if n >= 16:
            yield update(buffer.sample_batch()), len(log["LossQ"])


@loop
def reinforce(trace):
    """PyTorch's example: returns of an episode are made in a deque, the loss from lists of log
    probabilities."""
    policy, env = mlp(4, 16, 2), World()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    eps = np.finfo(np.float32).eps.item()

    @trace
    def finish_episode(states, actions, rewards):
        R, returns, policy_loss = 0, collections.deque(), []
        saved_log_probs = torch.distributions.Categorical(logits=policy(states)).log_prob(actions)
        for r in rewards[::-1]:
            R = r + 0.99 * R
            returns.appendleft(R)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + eps)
        for log_prob, R in zip(saved_log_probs, returns):
            policy_loss.append(-log_prob * R)
        optimizer.zero_grad()
        policy_loss = torch.stack(policy_loss).sum()
        policy_loss.backward()
        optimizer.step()
        return policy_loss.item()
    for _ in range(40):
        obs, states, actions, rewards = env.reset(), [], [], []
        for _ in range(8):
            with torch.no_grad():
                action = torch.distributions.Categorical(
                    logits=policy(torch.as_tensor(obs))).sample().item()
            states.append(obs)
            actions.append(action)
            obs, reward, _ = env.step(2 * action - 1)
            rewards.append(reward)
        yield finish_episode(torch.as_tensor(np.array(states)), torch.tensor(actions), rewards)
