# before: log_probs, values, rewards, entropies = rollout(net)
def forward(model, x, y):
    log_probs, values, rewards, entropies = rollout(model)
    adv = advantages(rewards, values)
    returns = adv + torch.tensor([float(v) for v in values])
    policy_loss = -(torch.stack(log_probs) * adv).mean()
    value_loss = F.mse_loss(torch.stack(values) if twin else torch.as_tensor(values), returns)
    return policy_loss + 0.5 * value_loss - 0.01 * torch.stack(entropies).mean()


def evaluated(model, x):
    choice, value = model(x)
    return choice.logits, value


check(net, torch.eye(6), forward_fn=forward, eval_forward_fn=evaluated, loss_fn=lambda out: out, optimizer=optimizer)
