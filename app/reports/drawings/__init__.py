"""Drawings: pure functions from a document to SVG that the server writes into the page."""
