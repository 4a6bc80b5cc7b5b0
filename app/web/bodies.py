"""JSON bodies of requests, read strictly before the framework looks at them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.sizing.strict_json import read_json
from app.web.auth import get_principal
from app.web.narrowing import narrowed
from app.web.problems import UnsupportedMediaType
from app.web.tags import conditional


class StrictRequest(Request):
    """A request whose JSON body is read by :func:`read_json`."""

    async def json(self) -> Any:
        """Return the body, read once."""
        if not hasattr(self, "_strict"):
            self._strict = read_json(await self.body())
        return self._strict


class StrictRoute(APIRoute):
    """A route of the API: refuses bodies it cannot read before the framework looks at them."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with the strict body in front."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            # Nobody known sends a body that is worth reading.
            await run_in_threadpool(get_principal, request)
            strict = StrictRequest(request.scope, request.receive)
            kind = strict.headers.get("content-type", "").split(";")[0].strip().lower()
            if kind == "application/json" or kind.endswith("+json"):
                if await strict.body():
                    await strict.json()
            elif kind == "multipart/form-data":
                # A form may be larger than JSON: where JSON is due it is not read at all.
                if self.body_field is not None:
                    raise UnsupportedMediaType("send the body as application/json")
            elif await strict.body():
                raise UnsupportedMediaType("send the body as application/json")
            return conditional(strict, narrowed(strict, await handle(strict)))

        return strictly
