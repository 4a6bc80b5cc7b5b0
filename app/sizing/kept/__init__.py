"""What is kept, and lists of it."""
