"""A proposal in words: the blocks that page and PDF both are made of."""
