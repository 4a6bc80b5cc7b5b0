"""How well the engine agrees with measured runs, and the documents generated from that."""
