import torch
from torch import nn
from torchvision.models import mobilenet_v3_small
from torchvision.models.feature_extraction import create_feature_extractor


class Perceptual(nn.Module):
    def __init__(self, layer="features.2"):
        super().__init__()
        network = mobilenet_v3_small(weights=None).eval()
        self.features = create_feature_extractor(network, {layer: "out"})

    @torch.inference_mode()
    def embed(self, images):
        return self.features(images)["out"]

    def forward(self, made, wanted):
        return nn.functional.mse_loss(self.embed(made), self.embed(wanted))


def main():
    torch.manual_seed(4)
    decoder = nn.Sequential(nn.Linear(8, 3 * 32 * 32), nn.Unflatten(1, (3, 32, 32)), nn.Sigmoid())
    optimizer = torch.optim.Adam(decoder.parameters(), lr=1e-3)
    perceptual = Perceptual()
    for step in range(2):
        code, wanted = torch.randn(2, 8), torch.rand(2, 3, 32, 32)
        loss = perceptual(decoder(code), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
