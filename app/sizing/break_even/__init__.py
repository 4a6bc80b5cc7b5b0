"""Build or rent: when an own cluster has paid for itself by the cloud bills it replaces."""
