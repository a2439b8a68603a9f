"""Policies on balls in the space of contexts and arms, which zoom in where they play."""
