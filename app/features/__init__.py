"""What the product does: one room for each feature, with its documents, routes, pages and charts."""
