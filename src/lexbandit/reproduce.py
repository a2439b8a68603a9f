"""The paper's Experiments 1 and 2, beside its claims."""
