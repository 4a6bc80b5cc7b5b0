"""What only the repository needs: the fit, generated documents, the description of the API and the client."""
