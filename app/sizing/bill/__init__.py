"""Bills of materials: what a system consists of, line by line, and how it stands in racks."""
