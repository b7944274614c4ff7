"""The web server: pages of every audience and language, sign-in, downloads, and the gate before all of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
import warnings
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import gradio as gr
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from core import __version__
from core.accounts import Account, Audience
from core.errors import InvalidInput, Problem, SalesfloorError, StoreError
from core.scenarios import Language
from ui import admin, look, practice
from ui import downloads as download_routes
from ui import signin as signin_routes
from ui.downloads import Downloads
from ui.gate import Gate
from ui.gate_routes import Mount
from ui.headers import is_loopback
from ui.identity import Identity, load_secret
from ui.own_pages import error_page, visitor_of
from ui.rooms import ROOMS, mount_path
from ui.services import Services
from ui.signin import SignIn
from ui.texts import Texts, texts

__all__ = ["build_app", "run", "serve_on"]

_STATIC: Final = Path(__file__).parent / "static"
_FORBIDDEN_VARIABLES: Final = ("GRADIO_VIBE_MODE", "GRADIO_MCP_SERVER", "GRADIO_SHARE", "GRADIO_LOCAL_DEV_MODE")
_GRACE_S: Final = 2

Build = Callable[[Services, Texts], gr.Blocks]

_BUILDERS: Final[dict[Audience, Build]] = {Audience.PRACTICE: practice.build, Audience.ADMIN: admin.build}


def build_app(services: Services) -> ASGIApp:
    """The whole application. Closing it stops the engine: replies under way stay open in the store and can be asked for again.

    Raises InvalidInput for environment variables that would open Gradio to others, StoreError if the signing key cannot be made.
    """
    _refuse_variables()
    _keep_files_at_home(services)

    async def assemble() -> ASGIApp:
        return _assembled(services)

    # Where no event loop runs, Gradio makes one for each of its locks and closes none of them.
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(assemble())
    finally:
        loop.close()


def run(services: Services, *, say: Callable[[str], object] | None = None) -> None:
    """Serve until the program is stopped. ``say`` is told the address once the pages can be opened (default: standard output).

    Raises InvalidInput if the address cannot be bound, and as :func:`build_app` does.
    """
    settings = services.settings
    listener = _listen(settings.host, settings.port)
    try:
        server = serve_on(build_app(services), trust_proxy=settings.trust_proxy)
        port = listener.getsockname()[1]
        server.on_started = lambda: (say or _print)(f"Salesfloor is open at {_address(settings.host, port)} (Ctrl+C closes it)")
        server.run(sockets=[listener])
    finally:
        listener.close()


class _Server(uvicorn.Server):
    """Tells when the pages can be opened."""

    on_started: Callable[[], object] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self.on_started is not None:
            self.on_started()


def serve_on(app: ASGIApp, *, trust_proxy: bool = False) -> _Server:
    """A server for ``app``; ``run(sockets=[…])`` it. One process: browser sessions live in its memory."""
    for name in ("uvicorn.error", "uvicorn.asgi"):
        logger = logging.getLogger(name)
        if not any(isinstance(item, _ExpectedAtTheEnd) for item in logger.filters):
            logger.addFilter(_ExpectedAtTheEnd())
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        ws="none",
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
        proxy_headers=trust_proxy,
        forwarded_allow_ips=["127.0.0.1", "::1"] if trust_proxy else [],
    )
    return _Server(config)


# -- inside -----------------------------------------------------------------------------------------------------------


def _refuse_variables() -> None:
    found = [name for name in _FORBIDDEN_VARIABLES if os.environ.get(name)]
    if found:
        raise InvalidInput(*(Problem(name, "it would open the pages to others past the sign-in", "unset it") for name in found))


def _keep_files_at_home(services: Services) -> None:
    """Gradio's temporary files go where only this user reads."""
    folder = services.settings.data_dir / "tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made: {error.strerror}; name another data_dir") from error
    os.environ["GRADIO_TEMP_DIR"] = str(folder)


def _assembled(services: Services) -> ASGIApp:
    settings = services.settings
    identity = Identity(services.store, settings, secret=load_secret(settings.data_dir))
    api = _api(services, identity)
    mounts: list[Mount] = []
    for room in ROOMS:
        for language in Language:
            path = mount_path(room.audience, language)
            demo = _BUILDERS[room.audience](services, texts(language))
            _mount(api, demo, path, language)
            mounts.append(Mount(path, room.audience, language, frozenset(page[0] for page in demo.pages if page[0])))
    return Gate(
        api,
        mounts=tuple(mounts),
        doorman=identity,
        error_page=error_page,
        # A proxy hands on the name that the visitor used.
        local_names_only=is_loopback(settings.host) and not settings.trust_proxy,
        trust_proxy=settings.trust_proxy,
    )


def _mount(api: FastAPI, demo: gr.Blocks, path: str, language: Language) -> None:
    # A page that was open while the server restarted goes on where it was: Gradio compares this number, which is a random one
    # otherwise. Another version of the program has another number, and Gradio then loads the page anew.
    demo.app_id = zlib.crc32(f"{__version__} {gr.__version__} {path}".encode())
    # It caps asynchronous events too, and the default is 40.
    demo.max_threads = 200
    demo.state_session_capacity = 500
    demo.queue(default_concurrency_limit=None, max_size=500)
    with warnings.catch_warnings():
        # Said of every application with several pages, also where it was never asked for.
        warnings.filterwarnings("ignore", message="SSR mode is not supported with multi-page apps")
        gr.mount_gradio_app(
            api,
            demo,
            path,
            auth_dependency=_name_of_visitor,
            run_history=False,
            show_error=False,
            footer_links=[],
            enable_monitoring=False,
            ssr_mode=False,
            mcp_server=False,
            pwa=False,
            max_file_size=1,
            theme=look.theme(),
            head=look.head(language),
            app_kwargs={"docs_url": None, "redoc_url": None, "openapi_url": None},
        )


def _name_of_visitor(request: Request) -> str | None:
    account = request.scope.get("salesfloor.account")
    return account.name if isinstance(account, Account) else None


def _api(services: Services, identity: Identity) -> FastAPI:
    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await services.close()

    api = FastAPI(
        docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan, exception_handlers=_handlers(), redirect_slashes=False
    )
    api.include_router(signin_routes.routes(SignIn(services, identity)))
    api.include_router(download_routes.routes(Downloads(services)))

    @api.get("/manifest.json")
    async def manifest() -> Response:
        icons = [{"src": "/static/favicon.svg", "sizes": "any", "type": "image/svg+xml"}]
        body: dict[str, Any] = {"name": "Salesfloor", "start_url": "/", "display": "standalone", "icons": icons}
        return JSONResponse(body, media_type="application/manifest+json")

    @api.get("/favicon.ico")
    async def favicon() -> Response:
        return FileResponse(_STATIC / "favicon.ico", media_type="image/x-icon")

    api.mount("/static", StaticFiles(directory=_STATIC))
    return api


def _handlers() -> dict[Any, Any]:
    def answer(request: Request, status: int) -> Response:
        visitor = visitor_of(request)
        if "text/html" in request.headers.get("accept", ""):
            return error_page(visitor, status)
        t = texts(visitor.language)
        return JSONResponse({"detail": t("errors.no_such_page" if status == 404 else "errors.unexpected")}, status)

    async def http_error(request: Request, error: HTTPException) -> Response:
        return answer(request, error.status_code)

    async def invalid(request: Request, _: RequestValidationError) -> Response:
        return answer(request, 400)

    async def store_error(request: Request, error: SalesfloorError) -> Response:
        logging.getLogger(__name__).error("%s %s: %s", request.method, request.url.path, error)
        return answer(request, 503 if isinstance(error, StoreError) else 400)

    async def fault(request: Request, _: Exception) -> Response:
        return answer(request, 500)

    return {HTTPException: http_error, RequestValidationError: invalid, SalesfloorError: store_error, Exception: fault}


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except BaseException:
            listener.close()
            raise
        return listener
    except OSError as error:
        place = f"{host}:{port}"
        mend = "stop the program that has it, or choose another with --port"
        if isinstance(error, socket.gaierror):
            mend = "name an address of this machine with --host"
        raise InvalidInput(Problem(place, f"this address can't be listened on ({error.strerror})", mend)) from error


def _address(host: str, port: int) -> str:
    shown = "127.0.0.1" if host in ("0.0.0.0", "") else "[::1]" if host == "::" else f"[{host}]" if ":" in host else host  # noqa: S104
    return f"http://{shown}:{port}"


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class _ExpectedAtTheEnd(logging.Filter):
    """Drops uvicorn's complaint that open event streams, of which each open page has one, were cut at the end."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "timeout graceful shutdown exceeded" not in record.getMessage()
