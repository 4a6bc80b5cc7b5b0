"""How a model is laid over the devices: search of plans, IPU mapping, checks."""
