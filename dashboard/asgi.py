"""The web process: Django for pages, Channels for sockets; only signed-in people of this site get one."""

import logging
import os
import sys

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
pages = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402  (Django must be set up first)
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from dashboard.live.routing import websocket_urlpatterns  # noqa: E402
from dashboard.platform.file_server import FileServer  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": FileServer(pages),
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)


def _end_at_once() -> None:
    """Requests in work when the event loop ends would wait for it for ever, and the process for them."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


if "twisted.internet.reactor" in sys.modules:  # Daphne's event loop
    from twisted.internet import reactor

    reactor.addSystemEventTrigger("after", "shutdown", _end_at_once)  # type: ignore[arg-type]
