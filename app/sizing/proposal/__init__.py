"""A comparison made into a proposal: what it says, what it advises, how it is frozen and replayed."""
