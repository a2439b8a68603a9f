"""Compiled functions only: arrays in, arrays out. Nothing here knows a policy by name."""
