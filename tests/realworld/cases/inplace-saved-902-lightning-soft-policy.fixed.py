import logging
import warnings
from collections import deque

import lightning.pytorch as pl
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Replay(IterableDataset):
    def __init__(self, capacity=500, batches=6, batch_size=32):
        self.memory = deque(maxlen=capacity)
        self.batches, self.batch_size = batches, batch_size

    def collect(self, steps=200):
        state = torch.randn(4)
        for _ in range(steps):
            action = torch.rand(1) * 2 - 1
            following = 0.9 * state + action
            self.memory.append((state, action, -following.abs().sum(), following))
            state = following

    def __iter__(self):
        for _ in range(self.batches):
            picks = torch.randint(len(self.memory), (self.batch_size,)).tolist()
            yield tuple(torch.stack(column) for column in zip(*(self.memory[i] for i in picks)))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, state, action):
        return self.net(torch.cat([state, action], dim=-1)).squeeze(-1)


class DDPG(pl.LightningModule):
    def __init__(self, gamma=0.95):
        super().__init__()
        self.automatic_optimization = False
        self.gamma = gamma
        self.actor = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
        self.critic, self.target = Critic(), Critic()
        self.target.load_state_dict(self.critic.state_dict())
        self.target.requires_grad_(False)

    def critic_loss(self, state, action, reward, following):
        with torch.no_grad():
            wanted = reward + self.gamma * self.target(following, self.actor(following))
        return F.mse_loss(self.critic(state, action), wanted)

    def actor_loss(self, state):
        return -self.critic(state, self.actor(state)).mean()

    def update(self, optimizer, loss):
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()

    def training_step(self, batch, batch_idx):
        opt_actor, opt_critic = self.optimizers()
        losses = {"critic": self.critic_loss(*batch)}
        self.update(opt_critic, losses["critic"])
        losses["actor"] = self.actor_loss(batch[0])
        self.update(opt_actor, losses["actor"])
        self.log_dict(losses)

    def configure_optimizers(self):
        return torch.optim.Adam(self.actor.parameters(), 1e-3), torch.optim.Adam(self.critic.parameters(), 2e-3)


if __name__ == "__main__":
    pl.seed_everything(0)
    replay = Replay()
    replay.collect()
    trainer = pl.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(DDPG(), DataLoader(replay, batch_size=None))
