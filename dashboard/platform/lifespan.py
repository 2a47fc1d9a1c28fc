"""What begins with a web process."""

from typing import Any

from dashboard.planning.publishing import keep_publishing


async def lifespan(scope: Any, receive: Any, send: Any) -> None:
    """Start what runs beside the pages; the server says when, and when it ends."""
    await receive()
    keep_publishing()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})
