"""One customer's question: options, knobs, versions, trace."""
