"""Addresses of sockets."""

from django.urls import path

from dashboard.live.consumers import LiveConsumer
from dashboard.sources.topic_tail import TailConsumer

websocket_urlpatterns = [
    path("ws/live/", LiveConsumer.as_asgi()),
    path("ws/sources/<slug:key>/messages/", TailConsumer.as_asgi()),
]
