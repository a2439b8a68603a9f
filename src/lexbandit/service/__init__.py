"""The decision service: decisions and rewards over HTTP, every acknowledged one durable."""
