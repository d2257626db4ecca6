import torch
from torch import nn
from torch.autograd.functional import hessian

torch.manual_seed(45)

doses = torch.linspace(0.1, 3.0, 25)
truth = torch.tensor([1.8, 0.9, 2.5])


class DoseResponse(nn.Module):
    def __init__(self, start=(1.0, 1.0, 1.5)):
        super().__init__()
        self.theta = nn.Parameter(torch.tensor(start))

    @staticmethod
    def curve(theta, dose):
        top, middle, steepness = theta
        return top * dose**steepness / (middle**steepness + dose**steepness)

    def forward(self, dose):
        return self.curve(self.theta, dose)


def residual_cost(predicted, observed, sigma=0.1):
    return 0.5 * ((predicted - observed) / sigma) ** 2


def fit(model, observed, steps=200, lr=0.02):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(steps):
        cost = residual_cost(model(doses), observed).mean()
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
    return cost.item()


def standard_errors(model, observed):
    def cost(theta):
        return residual_cost(model.curve(theta, doses), observed).sum()

    information = hessian(cost, model.theta.detach())
    return torch.linalg.inv(information).diagonal().clamp(min=0).sqrt()


def main():
    observed = DoseResponse.curve(truth, doses) + 0.1 * torch.randn(len(doses))
    model = DoseResponse()
    print(f"final cost {fit(model, observed):.4f}")
    for name, value, error in zip(("top", "middle", "steepness"), model.theta.tolist(), standard_errors(model, observed).tolist()):
        print(f"{name:10s} {value:.3f} +/- {error:.3f}")


if __name__ == "__main__":
    main()
