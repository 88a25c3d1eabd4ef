"""Snapshots of the work tree: taken when a check passed, gone back to when the person says so.

``place`` knows which folder is meant and which are refused, ``git`` starts the git command
line, ``snapshots`` turns a work tree into a tree object of a store of our own and back into
a list of differences, ``restore`` writes files, ``book`` keeps the list of checkpoints
beside the sessions, ``taking`` is what hooks call. Nothing in here writes to the person's
repository: not to HEAD, the index, branches, stashes, reflogs, hooks or config.
"""
