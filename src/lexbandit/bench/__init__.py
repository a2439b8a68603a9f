"""The bench: a study file becomes frozen runs, the runs become results, the results a summary."""
