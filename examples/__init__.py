"""Five applications, each a file that reads from top to bottom: `python -m examples.radio`."""
