"""What worker processes are forked with; imported by their server (:mod:`app.platform.worker_processes`)."""

import gc
import os
from importlib import import_module

# Metrics are the business of who answers; each process would leave files of its own for them.
os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)

for name in ("app.features.uploads.service", "app.features.sizings.service"):
    import_module(name)
sizing, model = import_module("app.features.sizings.answering"), import_module("app.features.sizings.model")
installed_context = import_module("app.platform.worker_processes").installed_context
examples = import_module("app.platform.web.examples")

# What the first sizing loads and finds out takes half a second.
sizing.size(model.SizingRequest.model_validate(examples.SIZING), installed_context())

# What is loaded for good is not looked through for garbage, which would copy it for each process.
gc.freeze()
