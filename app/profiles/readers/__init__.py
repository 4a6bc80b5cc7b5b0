"""One reader for each format that customers bring; nothing in a file is executed, imported or unpickled."""
