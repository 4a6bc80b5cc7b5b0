"""Bills of materials: machines, network, racks, power, spares."""
