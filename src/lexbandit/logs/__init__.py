"""Logs of past decisions: read them, evaluate other policies on them, learn from them."""
