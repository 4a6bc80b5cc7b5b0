"""What processes that compute apart are forked with; imported by their server (:mod:`app.platform.apart`)."""

import gc

from app.compiled import library
from app.features.sizings import service as sizings
from app.features.uploads import service as uploads
from app.platform.apart import installed_context

LOADED = (sizings, uploads, library(), installed_context())

# What is loaded for good is not looked through for garbage, which would copy it for each process.
gc.freeze()
