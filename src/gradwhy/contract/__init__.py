"""What torch does for each combination of a call for gradients, its inputs, its output and its arguments: a table of real runs."""
