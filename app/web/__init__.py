"""HTTP: the JSON API and the pages. Routes parse, call one service and render."""
