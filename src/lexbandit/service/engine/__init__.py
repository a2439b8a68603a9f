"""Decisions and rewards of all points: state = snapshot + replay of the log."""
