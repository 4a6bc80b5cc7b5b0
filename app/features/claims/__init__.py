"""Published ratios of vendors beside our own estimate on equal footing."""
