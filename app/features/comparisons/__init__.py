"""Options side by side: estimates, published and measured figures."""
