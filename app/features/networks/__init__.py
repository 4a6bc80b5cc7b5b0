"""Which network is worth paying for."""
