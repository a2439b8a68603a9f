"""Run studies: read a study file, play its runs, store results and summarize them."""
