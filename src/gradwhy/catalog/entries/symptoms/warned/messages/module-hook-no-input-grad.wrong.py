import torch

model = torch.nn.Linear(4, 1)
model.register_full_backward_hook(lambda module, grad_input, grad_output: print(grad_input))
x = torch.randn(8, 4)
model(x).mean().backward()
