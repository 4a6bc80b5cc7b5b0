"""What processes that compute apart are forked with; imported by their server (:mod:`app.platform.apart`)."""

import gc
import os
from importlib import import_module

# Metrics are the business of who answers; each process would leave files of its own for them.
os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)

for name in ("app.features.sizings.service", "app.features.uploads.service"):
    import_module(name)
import_module("app.compiled").library()
import_module("app.platform.apart").installed_context()

# What is loaded for good is not looked through for garbage, which would copy it for each process.
gc.freeze()
