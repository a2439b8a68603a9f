"""Policies on the cells of a partition: one rule a file."""
