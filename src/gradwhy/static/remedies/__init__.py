"""One file a cause: the edits that undo it."""
