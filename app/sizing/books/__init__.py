"""Price books of a workspace: what may stand in them, how they are read and written, what changed."""
