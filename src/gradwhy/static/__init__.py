"""Analysis and remedies that read source only."""
