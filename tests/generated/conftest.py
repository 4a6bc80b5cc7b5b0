"""What is run in another environment is no test here."""

collect_ignore = ["calls.py"]
