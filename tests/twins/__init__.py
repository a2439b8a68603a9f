"""Plain twins of the policies beyond the paper, each written from its definition, with no numpy."""
