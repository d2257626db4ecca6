"""The engine that watches a program run."""
