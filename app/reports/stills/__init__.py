"""Figures and drawings as pictures and tables, drawn without a browser."""
