"""Software profiles fitted to runs that a customer measured, and what an upgrade gains."""
