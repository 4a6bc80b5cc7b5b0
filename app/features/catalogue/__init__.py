"""The catalogue to read: chips, machines, systems, fabrics, models, software, sources."""
