"""One estimate: kept, shown, scaled over counts."""
