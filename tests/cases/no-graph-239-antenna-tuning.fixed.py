import math

import torch


class Array:
    def __init__(self, elements=8, spacing=0.5):
        self.place = torch.arange(elements) * spacing * 2 * math.pi


    def pattern(self, phase, angles):
        lag = torch.sin(angles)[:, None] * self.place + phase
        real, imag = torch.cos(lag).mean(1), torch.sin(lag).mean(1)
        return real ** 2 + imag ** 2


def side_lobe(power, angles, aim, width=0.25):
    outside = (angles - aim).abs() > width
    return power[outside].max()


def tune(array, aim, steps=60, lr=0.05):
    angles = torch.linspace(-1.4, 1.4, 141)
    phase = torch.zeros(len(array.place), requires_grad=True)
    optimizer = torch.optim.Adam([phase], lr=lr)
    aim_index = (angles - aim).abs().argmin().item()
    for step in range(steps):
        power = array.pattern(phase, angles)
        objective = side_lobe(power, angles, aim) - power[aim_index]
        optimizer.zero_grad()
        objective.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"{step:2d} aim {power[aim_index].item():.3f} side {side_lobe(power, angles, aim).item():.3f}")
    return phase.detach()


def main():
    torch.manual_seed(0)
    array = Array()
    for aim in (0.2, -0.5):
        phase = tune(array, aim)
        degrees = [round(math.degrees(p)) % 360 for p in phase.tolist()]
        print(f"aim {aim:+.1f}: {degrees}")


if __name__ == "__main__":
    main()
