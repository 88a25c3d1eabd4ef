"""Agents alone: a ticket through sketch, design, code and review to a branch, a fresh worker per turn.

``machine`` decides what comes next and when it is enough, ``findings`` reads what reviewers
wrote and makes one verdict of it, ``settings`` says who works and what bounds hold. These
three do no I/O. A worker is a stateless process; the state is on disk; what one turn hands
to the next is made by code.
"""
