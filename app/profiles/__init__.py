"""Profiles: presets and uploads become what the sizing layer reads of a model and of the data."""
