"""Running the server: health, chores, retention, checks of the store, the description of the API."""
