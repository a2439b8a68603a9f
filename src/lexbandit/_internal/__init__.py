"""Helpers of several packages: files, caches, TOML, redaction, the script of charts."""
