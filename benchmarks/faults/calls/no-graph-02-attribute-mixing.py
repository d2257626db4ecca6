# before: optimizer.zero_grad()
class Mix(nn.Module):
    def __init__(self):
        super().__init__()
        self.beta = nn.Parameter(beta.detach())

    def forward(self, a, b):
        return classifier(model.render(start, a * self.beta + b * (1 - self.beta)))


check(Mix(), (code_a, code_b), wanted, loss_fn=F.binary_cross_entropy_with_logits, overfit_steps=0)
