"""The real-world suite: programs with Lightning, transformers, PEFT, accelerate, timm and torchvision.

``make realworld`` runs it. Where one of them is missing, nothing is collected.
"""

from __future__ import annotations

import importlib.util

NEEDED = ("lightning", "transformers", "peft", "accelerate", "timm", "torchvision")

collect_ignore_glob = [] if all(importlib.util.find_spec(name) for name in NEEDED) else ["test_*.py"]
