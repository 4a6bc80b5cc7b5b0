"""Which system, and how many of it, for a deadline or a budget."""
