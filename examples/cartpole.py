"""An actor and a critic learn to balance a pole on a cart, which is written out here.

After 600 episodes the pole stands for nearly all of 200 moments.

    python examples/cartpole.py [--episodes N] [--trace]
"""
import math

import whet
import whet.nn.functional as F
from command import run
from whet import nn
from whet.distributions import Categorical

MOST = 200


class CartPole:
    """A pole on a cart that is pushed left or right, with the constants of Gym's `CartPole`."""

    def reset(self):
        """Begin anew, nearly upright."""
        self.state, self.moments = (whet.rand(4) * 0.1 - 0.05).tolist(), 0
        return self.state

    def step(self, action):
        """(state, reward, is it over?) after a moment."""
        x, speed, angle, turn = self.state
        sin, cos = math.sin(angle), math.cos(angle)
        push = ((10.0 if action == 1 else -10.0) + 0.05 * turn ** 2 * sin) / 1.1
        turned = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
        moved = push - 0.05 * turned * cos / 1.1
        self.state = [x + 0.02 * speed, speed + 0.02 * moved, angle + 0.02 * turn,
                      turn + 0.02 * turned]
        self.moments += 1
        fell = abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.radians(12)
        return self.state, 1.0, fell or self.moments == MOST


class ActorCritic(nn.Module):
    """The chances of each push, and what is still to come."""

    def __init__(self, width=64):
        super().__init__()
        self.body, self.actor, self.critic = (
            nn.Linear(4, width), nn.Linear(width, 2), nn.Linear(width, 1))

    def forward(self, state):
        h = F.relu(self.body(state))
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


def returns_of(rewards, discount=0.99):
    """What followed each moment, later rewards for less."""
    found, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + discount * total
        found.append(total)
    return whet.tensor(found[::-1])


def main(episodes=600, trace=False):
    whet.manual_seed(0)
    game, model = CartPole(), ActorCritic()
    opt = whet.optim.Adam(model.parameters(), 5e-3)

    def act(state):
        return model(state)[0].sample()

    def step(states, actions, returns):
        chances, values = model(states)
        gain = (returns - values).detach()
        loss = (F.smooth_l1_loss(values, returns) - 0.01 * chances.entropy().mean()
                - (chances.log_prob(actions) * gain / (gain.std() + 1e-6)).mean())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        return loss.detach()

    if trace:
        act, step = whet.jit.trace(act), whet.jit.trace(step)
    losses, lasted = [], []
    for episode in range(1, episodes + 1):
        state, is_over, states, actions, rewards = game.reset(), False, [], [], []
        while not is_over:
            states.append(whet.tensor(state))
            with whet.no_grad():
                actions.append(act(states[-1]))
            state, reward, is_over = game.step(actions[-1].item())
            rewards.append(reward)
        losses.append(step(whet.stack(states), whet.stack(actions), returns_of(rewards)).item())
        lasted.append(len(rewards))
        if episode % max(1, episodes // 10) == 0:
            recent = lasted[-30:]
            print(f"episode {episode:3d}/{episodes}  loss {losses[-1]:6.2f}  "
                  f"the pole stood for {sum(recent) / len(recent):.0f} moments")
    return losses, sum(lasted[-30:]) / len(lasted[-30:])


if __name__ == "__main__":
    run(main)
