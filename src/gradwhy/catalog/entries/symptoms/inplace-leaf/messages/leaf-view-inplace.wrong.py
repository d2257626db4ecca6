import torch

embedding = torch.nn.Embedding(10, 4)
pretrained = torch.randn(4)
embedding.weight[3] = pretrained
embedding(torch.tensor([3])).sum().backward()
