"""One file a format: a transcript's content to items. See CONTRIBUTING.md, "Add a reader"."""
