"""Plans that Kafka has not heard of go out once it can: it was away, or who saved them ended too soon."""

import logging
import time
from threading import Thread

from django.db import connection

from dashboard.planning.service import publish_pending

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 4.0


def keep_publishing() -> None:
    """In the background, as long as the process runs, whether or not somebody watches."""
    Thread(target=_publish_again_and_again, name="plans", daemon=True).start()


def _publish_again_and_again() -> None:
    while True:
        try:
            publish_pending()
        except Exception:
            logger.exception("Could not look for plans to publish; trying again in %d s.", PAUSE_SECONDS)
        finally:
            connection.close()
        time.sleep(PAUSE_SECONDS)
