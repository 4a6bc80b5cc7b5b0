"""A comparison frozen for a customer: content, words, PDF, sheets, links, replay."""
