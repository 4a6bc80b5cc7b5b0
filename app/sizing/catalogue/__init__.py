"""The catalogue as it is answered."""
