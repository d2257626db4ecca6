"""Narrow patches of torch for what no mode sees, one file each: ``install`` puts it in place and returns the undo."""
