import torch
import torch.nn.functional as F

torch.manual_seed(40)


class SineTasks:
    def sample(self, shots=10):
        amplitude, phase = 0.5 + 4 * torch.rand(1), 3.14 * torch.rand(1)
        x = torch.rand(2 * shots, 1) * 10 - 5
        y = amplitude * torch.sin(x + phase)
        return (x[:shots], y[:shots]), (x[shots:], y[shots:])


class Regressor:
    def __init__(self, hidden=32):
        shapes = [(hidden, 1), (hidden,), (hidden, hidden), (hidden,), (1, hidden), (1,)]
        self.weights = [
            (torch.randn(s) * (0.3 if len(s) > 1 else 0.0)).requires_grad_(True) for s in shapes
        ]

    def forward(self, x, weights=None):
        w = self.weights if weights is None else weights
        x = torch.tanh(F.linear(x, w[0], w[1]))
        x = torch.tanh(F.linear(x, w[2], w[3]))
        return F.linear(x, w[4], w[5])


class MetaLearner:
    def __init__(self, model, inner_lr=0.02, inner_steps=3, outer_lr=2e-3, first_order=True):
        self.first_order = first_order
        self.model, self.inner_lr, self.inner_steps = model, inner_lr, inner_steps
        self.optimizer = torch.optim.Adam(model.weights, lr=outer_lr)

    def sgd(self, weights, grads):
        return [w.data - self.inner_lr * g.clamp(-5, 5) for w, g in zip(weights, grads)]

    def adapt(self, support):
        x, y = support
        weights = self.model.weights
        history = []
        for _ in range(self.inner_steps):
            loss = F.mse_loss(self.model.forward(x, weights), y)
            grads = torch.autograd.grad(loss, weights, create_graph=not self.first_order)
            weights = self.sgd(weights, grads)
            history.append(loss.item())
        return weights, history

    def outer_step(self, tasks):
        total, log = 0.0, []
        for support, query in tasks:
            weights, history = self.adapt(support)
            total = total + F.mse_loss(self.model.forward(query[0], weights), query[1])
            log.append(history[0])
        total = total / len(tasks)
        self.optimizer.zero_grad()
        total.backward()
        self.optimizer.step()
        return total.item(), sum(log) / len(log)

if __name__ == "__main__":
    source = SineTasks()
    learner = MetaLearner(Regressor())
    for iteration in range(5):
        outer, first = learner.outer_step([source.sample() for _ in range(4)])
        print(f"iteration {iteration} before {first:.3f} after {outer:.3f}")
