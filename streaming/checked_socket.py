"""How kafka-python dials the clusters of people: bootstrap servers, and the brokers that these name."""

import socket

from kafka.errors import KafkaConnectionError
from kafka.net.inet import KafkaNetSocket

from streaming import addresses

OPTIONS = {"proxy_url": "checked://"}  # of kafka-python, which takes the class of this scheme


class CheckedSocket(KafkaNetSocket):
    """Looks each name up once, and lets what it leads to be dialled if all of it is allowed."""

    SCHEMES = ("checked",)

    def dns_lookup(self, host: str, port: int, raise_error: bool = False) -> list[addresses.Found]:
        try:
            return addresses.resolved(host, port, addresses.allowed_networks())
        except addresses.NotAllowed as problem:
            raise KafkaConnectionError(str(problem)) from problem
        except socket.gaierror as problem:
            if raise_error:
                raise KafkaConnectionError(str(problem)) from problem
            return []
