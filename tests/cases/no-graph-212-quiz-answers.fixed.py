import torch
from torch import nn


class Quiz:
    def __init__(self, questions=180, words=25, options=4):
        self.key = torch.randn(words, options)
        self.x = torch.rand(questions, words).bernoulli()
        self.y = (self.x @ self.key).argmax(1)

    def batches(self, size):
        for idx in torch.randperm(len(self.x)).split(size):
            yield self.x[idx], self.y[idx]


class Learner:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.ema = {k: v.clone() for k, v in model.state_dict().items()}
        self.log = []

    @torch.no_grad()
    def update_ema(self, decay=0.9):
        for name, value in self.model.state_dict().items():
            self.ema[name].mul_(decay).add_(value, alpha=1 - decay)

    def train_step(self, x, y):
        logits = self.model(x)
        accuracy = logits.argmax(1).eq(y).float().mean()
        loss = nn.functional.cross_entropy(logits, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.update_ema()
        self.log.append((loss.item(), accuracy.item()))

    def fit(self, quiz, epochs=5, size=30):
        for epoch in range(epochs):
            for x, y in quiz.batches(size):
                self.train_step(x, y)
            loss, accuracy = self.log[-1]
            print(f"epoch {epoch}: {loss:.3f} {accuracy:.1%}")


torch.manual_seed(9)
quiz = Quiz()
model = nn.Sequential(nn.Linear(25, 32), nn.ReLU(), nn.Linear(32, 4))
Learner(model, 0.01).fit(quiz)
