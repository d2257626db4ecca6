# not applicable: what is trained is a part of a tensor, and no parameter of a module
