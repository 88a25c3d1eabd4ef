"""The command line. ``unspin hook`` is answered before anything heavy is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; the entry point of the ``unspin`` program."""
    if sys.argv[1:2] == ["hook"] and not {"--help", "-h"} & set(sys.argv[2:]):
        from unspin import hook

        hook.main(sys.argv[2] if len(sys.argv) > 2 else "")
    from unspin.cli.app import app

    app(prog_name="unspin")
