"""Vendor ratios beside estimates on equal footing: which of them survive."""
