"""A client of the REST door for orchestrators: `Client` waits, `AsyncClient` is awaited, `work` is an orchestrator.

    with Client("https://tikitaka.example", token) as client:
        task = client.submit_task(team, "Add a health check.")
        for event in client.follow_task(task.id):
            print(event.name, event.data)

It knows nothing of the server but its addresses, and needs nothing but httpx2.
"""

from tikitaka.client.clients import AsyncClient, Client
from tikitaka.client.errors import (
    ClientError,
    Conflict,
    Forbidden,
    Invalid,
    NotAuthenticated,
    NotFound,
    Refused,
    TooLarge,
    TooManyRequests,
    Unreachable,
    Unreadable,
)
from tikitaka.client.exchange import Patience
from tikitaka.client.job import Answer, Failed, Job, Stopped
from tikitaka.client.secret import Secret
from tikitaka.client.working import work, work_async

__all__ = [
    "Answer",
    "AsyncClient",
    "Client",
    "ClientError",
    "Conflict",
    "Failed",
    "Forbidden",
    "Invalid",
    "Job",
    "NotAuthenticated",
    "NotFound",
    "Patience",
    "Refused",
    "Secret",
    "Stopped",
    "TooLarge",
    "TooManyRequests",
    "Unreachable",
    "Unreadable",
    "work",
    "work_async",
]
