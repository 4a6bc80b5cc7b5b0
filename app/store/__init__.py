"""What is kept: tables, transactions, every query by name, migrations."""
