"""What pages and routes share: forms, rights, errors, rendering."""
