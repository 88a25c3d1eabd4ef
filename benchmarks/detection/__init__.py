"""What is noticed in recorded sessions, and how often that is right: beside run length, plain rules and other guards.

    python benchmarks/run.py --only detection

What the tables mean, what was read and what is missed stands in docs/detection.md.
"""

from detection.tables import run

__all__ = ["run"]
