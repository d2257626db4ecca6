"""What each torch name does to a gradient, as data: ops.toml and the table that reads it."""
