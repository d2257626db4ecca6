import torch

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(inplace=True), torch.nn.Linear(4, 1))
for layer in model:
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: print(module))
x = torch.randn(8, 4, requires_grad=True)
model(x).mean().backward()
