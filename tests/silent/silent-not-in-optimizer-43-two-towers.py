import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def tower(inputs, dim):
    return nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, dim))


def make_batch(products, n):
    rows = torch.randint(0, len(products), (n,))
    query = products[rows][:, :6] + 0.2 * torch.randn(n, 6)
    return query, products[rows]


def train(args):
    torch.manual_seed(args.seed)
    products = torch.randn(200, 10)
    query_net, product_net = tower(6, args.dim), tower(10, args.dim)
    optimizer = torch.optim.Adam(query_net.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30, 0.5)
    for step in range(args.steps):
        query, product = make_batch(products, 32)
        q = F.normalize(query_net(query), dim=1)
        p = F.normalize(product_net(product), dim=1)
        loss = F.cross_entropy(q @ p.t() / 0.1, torch.arange(32))
        optimizer.zero_grad()
        product_net.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    return query_net, product_net, optimizer


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--dim", type=int, default=12)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args([])


if __name__ == "__main__":
    query_net, product_net, optimizer = train(parse())
