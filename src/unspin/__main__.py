"""``python -m unspin``."""

from unspin.cli import main

main()
