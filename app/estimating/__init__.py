"""One question answered: request, plan, run, cost, and a document with its trace."""
