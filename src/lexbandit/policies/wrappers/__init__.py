"""Policies around another policy: the doubling trick, and a part of the context."""
