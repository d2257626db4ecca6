"""The version of gradwhy, in the one place that has it."""

VERSION = "0.1.0"
