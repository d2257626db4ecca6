import copy

import torch
from torch import nn


class Client:
    def __init__(self, shift, n=48):
        x = torch.randn(n, 5) + shift
        self.data = x, (x.sum(dim=1) > 5 * shift).long()

    def train(self, server_model, epochs=2, lr=0.1):
        local = copy.deepcopy(server_model)
        optimizer = torch.optim.SGD(local.parameters(), lr=lr)
        x, y = self.data
        for _ in range(epochs):
            for xb, yb in zip(x.split(16), y.split(16)):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(local(xb), yb)
                loss.backward()
                optimizer.step()
        return {k: v.detach() for k, v in local.state_dict().items()}, len(x), loss.item()


class Server:
    def __init__(self, model, clients):
        self.model, self.clients = model, clients

    def round(self, fraction=0.5):
        chosen = torch.randperm(len(self.clients))[: max(1, int(fraction * len(self.clients)))]
        answers = [self.clients[i].train(self.model) for i in chosen]
        total = sum(n for _, n, _ in answers)
        merged = {}
        for key in self.model.state_dict():
            merged[key] = sum(state[key] * (n / total) for state, n, _ in answers)
        self.model.load_state_dict(merged)
        return sum(loss for *_, loss in answers) / len(answers)


torch.manual_seed(5)
model = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 2))
server = Server(model, [Client(s) for s in torch.linspace(-1, 1, 6).tolist()])
for r in range(5):
    print("round", r, round(server.round(), 4))
