"""The commands of ``rackline``, a module for those that need the same parts of it loaded."""
