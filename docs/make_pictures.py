"""Remake the pictures of README and docs: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from torelli.classification import classify
from torelli.commands import demo
from torelli.datasets.streets import street_patterns

IMAGES = Path(__file__).parent / "images"


def main() -> int:
    """Draw the demo's pictures with its default settings."""
    data = street_patterns(60, radius=300.0, seed=0)
    outcome = classify(data.graphs, np.asarray(data.target_names)[data.y])
    for path in demo.draw(outcome, IMAGES):
        print(path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
