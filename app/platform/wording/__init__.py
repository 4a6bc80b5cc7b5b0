"""Words and numbers for readers: one voice per language, used by pages, figures and proposals."""
