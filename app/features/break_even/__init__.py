"""Build or rent: when an owned cluster is cheaper than the cloud."""
