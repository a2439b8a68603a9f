"""Recordings of what happened: readers, and their preparation as contexts and outcomes."""
