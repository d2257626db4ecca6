"""The error database: one folder an entry, with its facts, its sentences and its page in each language."""
