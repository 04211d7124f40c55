"""Small transformers trained on small tasks, so that a position table can be watched forming."""
