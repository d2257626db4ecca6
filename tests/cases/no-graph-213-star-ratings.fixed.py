import torch
from torch import nn

torch.manual_seed(6)


class StarModel(nn.Module):
    def __init__(self, films, people, rank=6):
        super().__init__()
        self.films = nn.Embedding(films, rank)
        self.people = nn.Embedding(people, rank)
        self.base = nn.Parameter(torch.tensor(3.0))

    def forward(self, person, film):
        stars = self.base + (self.people(person) * self.films(film)).sum(-1)
        return stars.clamp(1, 5)


def sample(n, people=30, films=20):
    p, f = torch.randint(0, people, (n,)), torch.randint(0, films, (n,))
    stars = (3 + torch.sin(p.float()) + torch.cos(f.float() * 2)).round().clamp(1, 5)
    return p, f, stars


model = StarModel(20, 30)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
loss_fn = nn.MSELoss()
people, films, stars = sample(400)

for epoch in range(10):
    seen, wrong = 0, 0
    for idx in torch.randperm(400).split(50):
        guess = model(people[idx], films[idx])
        loss = loss_fn(guess, stars[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        wrong += (guess.detach().round() != stars[idx]).sum().item()
        seen += len(idx)
    print(f"{epoch}: {loss.item():.3f}, wrong {wrong}/{seen}")
