"""What lists and uploads are answered with."""
