"""Policies of the literature, to compare with: one a file."""
