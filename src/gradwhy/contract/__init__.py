"""What torch does for each combination of a call for gradients, its inputs, output and arguments: a table of real runs."""
