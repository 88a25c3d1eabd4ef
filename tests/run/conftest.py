"""Fixtures of the tests of runs."""

from run.scripted import make_project as project_fixture

__all__ = ["project_fixture"]
