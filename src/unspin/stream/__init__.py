"""Streams that degenerate: one line for ever, a paragraph over and over, a text that drifts in circles.

Stands alone: knows no events, no rules, no store. ``tail`` finds loops at the end of a text,
``units`` says how much of what is too much, ``novelty`` finds those that drift.
"""
