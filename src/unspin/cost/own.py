"""The person's own prices: ``prices.toml`` in the configuration folder. Knows what may stand there, and no model.

[models."my-model"]
input = 1.5          # dollars per million tokens
output = 6
cache_read = 0.15    # what is left out is paid as input
"""

from __future__ import annotations

import math
import os
from typing import Any

from unspin.cost.prices import FIGURES

NAME = "prices.toml"
_NEEDED = ("input", "output")


class PriceError(Exception):
    """The price file cannot be used; the text says where and what to write instead."""

    for_people = True


def read(folder: str) -> dict[str, dict[str, float]]:
    """Return the prices of the file in ``folder`` by model, none where there is no file.

    Raises :class:`PriceError`, in one line.
    """
    path = os.path.join(folder, NAME)
    if not os.path.lexists(path):
        return {}
    import tomllib

    try:
        with open(path, "rb") as file:
            tables = tomllib.load(file)
    except (OSError, ValueError) as error:
        raise PriceError(f"{path}: it cannot be read as TOML ({error}). Mend it, or remove it.") from None
    try:
        return _checked(tables)
    except PriceError as error:
        raise PriceError(f"{path}: {error}") from None


def _checked(tables: dict[str, Any]) -> dict[str, dict[str, float]]:
    for key in tables:
        if key != "models":
            raise PriceError(f'{key!r} is not known here; prices are written as [models."NAME"]')
    models = tables.get("models", {})
    if not isinstance(models, dict):
        raise PriceError('prices are written as tables, [models."NAME"]')
    for model, figures in models.items():
        if not isinstance(figures, dict):
            raise PriceError(f'[models."{model}"] is expected to be a table with {" and ".join(_NEEDED)}')
        for key, value in figures.items():
            if isinstance(value, dict):
                raise PriceError(f'the name of a model is written in quotes: [models."{model}.{key}"]')
            if key not in FIGURES:
                raise PriceError(f'[models."{model}"]: {key!r} is not known; known are {", ".join(FIGURES)}')
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value < 0:
                raise PriceError(f'[models."{model}"]: {key} is dollars per million tokens, 0 or more, not {value!r}')
        for key in _NEEDED:
            if key not in figures:
                raise PriceError(f'[models."{model}"]: {key} is missing')
    return models
