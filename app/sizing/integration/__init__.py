"""How other programs reach Rackline and are told of events: what is asked and what is answered."""
