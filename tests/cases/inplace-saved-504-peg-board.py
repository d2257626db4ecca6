import torch
from torch import nn

torch.manual_seed(3)
CELLS = 9


class Board:
    def __init__(self, games):
        self.cells = torch.zeros(games, CELLS)
        self.goal = torch.randint(CELLS, (games,))

    def view(self):
        goal = nn.functional.one_hot(self.goal, CELLS).float()
        return torch.cat([self.cells, goal], dim=1)

    def open(self):
        return self.cells == 0

    def play(self, moves):
        rows = torch.arange(len(moves))
        self.cells[rows, moves] = 1.0
        return 1.0 - (moves - self.goal).abs().float() / CELLS


class Player(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * CELLS, hidden), nn.ReLU(), nn.Linear(hidden, CELLS))

    def forward(self, view):
        return torch.softmax(self.net(view), dim=-1)


def legal_only(probs, allowed):
    probs[~allowed] = 0.0
    return probs / (probs.sum(dim=-1, keepdim=True) + 1e-8)


def episode(player, games=32, turns=4):
    board, log_probs, rewards = Board(games), [], []
    for _ in range(turns):
        probs = legal_only(player(board.view()), board.open())
        moves = torch.multinomial(probs, 1).squeeze(1)
        log_probs.append(probs.gather(1, moves[:, None]).squeeze(1).clamp(min=1e-8).log())
        rewards.append(board.play(moves))
    return torch.stack(log_probs), torch.stack(rewards)


player = Player()
optimizer = torch.optim.Adam(player.parameters(), lr=5e-3)
baseline = 0.0
for i in range(40):
    log_probs, rewards = episode(player)
    returns = rewards.flip(0).cumsum(0).flip(0)
    loss = -(log_probs * (returns - returns.mean(dim=1, keepdim=True))).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    baseline = 0.9 * baseline + 0.1 * rewards.mean().item()
print("mean reward", round(baseline, 3))
