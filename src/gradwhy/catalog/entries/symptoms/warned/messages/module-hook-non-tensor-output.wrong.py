import torch


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 3)

    def forward(self, x):
        return {"logits": self.head(x)}


model = Classifier()
model.register_full_backward_hook(lambda module, grad_input, grad_output: print(grad_output))
model(torch.randn(8, 4, requires_grad=True))["logits"].mean().backward()
