"""The lists of words and patterns that stand in data files beside the code, read through the import system.

The one place in the core where a file is opened: what belongs to the code, as its modules do.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read_list(name: str) -> dict[str, Any]:
    """Return the contents of ``name``.json of this package. Keep it: this reads the file each time."""
    import json

    loader: Any = __spec__.loader
    folder = __file__.rpartition("lists.")[0]
    found: dict[str, Any] = json.loads(loader.get_data(f"{folder}{name}.json"))
    return found
