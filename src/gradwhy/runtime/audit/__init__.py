"""Accounts for every parameter over the first training steps: what arrived, what changed, and if nothing did, why."""
