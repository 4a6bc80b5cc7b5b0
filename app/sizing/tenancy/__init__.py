"""Several teams on one system: who gets which devices, and how long each waits for its turn."""
