"""Gradient flow over the syntax tree: what each name holds, and whether a gradient passes through it. Runs nothing."""
