"""Helpers of several packages: files, caches, TOML, redaction."""
