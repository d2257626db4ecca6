"""Where people work: one file a host. A host is imported in its own file only; one that is missing is no reason to fail."""
