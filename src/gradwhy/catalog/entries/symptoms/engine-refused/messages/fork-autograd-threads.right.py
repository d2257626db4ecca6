import torch
import torch.multiprocessing as mp


def train():
    x = torch.ones(3, requires_grad=True)
    x.sum().backward()


if __name__ == "__main__":
    x = torch.ones(3, device="cuda", requires_grad=True)
    x.sum().backward()
    worker = mp.get_context("spawn").Process(target=train)
    worker.start()
    worker.join()
