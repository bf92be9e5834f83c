"""`python -m config.healthcheck [port]`: asks this container whether its site is healthy, by a name it answers to."""

from __future__ import annotations

import http.client
import os
import sys


def main(arguments: list[str]) -> int:
    """0 when /healthz says so within five seconds."""
    port = int(arguments[0]) if arguments else 8000
    host = os.environ.get("ALLOWED_HOSTS", "localhost").split(",")[0].strip().lstrip(".*") or "localhost"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/healthz", headers={"Host": host})
        return 0 if connection.getresponse().status == http.HTTPStatus.OK else 1
    except OSError:
        return 1
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
