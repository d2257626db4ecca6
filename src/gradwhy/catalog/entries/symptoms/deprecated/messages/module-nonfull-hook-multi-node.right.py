import torch

block = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
block.register_full_backward_hook(lambda module, grad_input, grad_output: print([g.shape for g in grad_input]))
x = torch.randn(1, 4, requires_grad=True)
block(x).sum().backward()
