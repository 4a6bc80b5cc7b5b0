"""The audit trail as answers."""
