"""The configuration of the service: a TOML file, the environment, the command line."""
