# before: optimizer.zero_grad()
def loss_fn(out):
    logp, value = out
    advantage = reward_of(board, move) - value
    chosen = logp.gather(1, move[:, None]).squeeze(1)
    entropy = entropy_of(logp)
    return -(chosen * advantage.detach()).mean() + 0.5 * advantage.pow(2).mean() - bonus * entropy.mean()


check(policy, board, loss_fn=loss_fn, optimizer=optimizer)
