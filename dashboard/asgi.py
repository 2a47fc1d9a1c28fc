"""The web process: Django for pages, Channels for sockets; only signed-in people of this site get one."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
pages = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402  (Django must be set up first)
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402

from dashboard.live.routing import websocket_urlpatterns  # noqa: E402
from dashboard.platform.body_limit import BodyLimit  # noqa: E402
from dashboard.platform.file_server import FileServer  # noqa: E402
from dashboard.platform.lifespan import lifespan  # noqa: E402
from dashboard.platform.socket_origin import OwnPagesOnly  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": FileServer(BodyLimit(pages)),
        "websocket": OwnPagesOnly(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
        "lifespan": lifespan,
    }
)
