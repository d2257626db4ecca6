# not applicable: what is trained is a dict of tensors, and no module
