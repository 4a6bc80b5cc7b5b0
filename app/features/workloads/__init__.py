"""The form of a model and what is trained, filled in from what was published."""
