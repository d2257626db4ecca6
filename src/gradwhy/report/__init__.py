"""One file a format: a Report in, text out."""
