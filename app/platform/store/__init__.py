"""Tables, queries and files: every statement by name, bound to a workspace."""
