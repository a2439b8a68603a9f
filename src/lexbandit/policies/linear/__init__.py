"""Policies on regressions of features: one rule a file."""
