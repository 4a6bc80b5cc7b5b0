"""Studies: a customer's question with its options, answered in any of its states."""
