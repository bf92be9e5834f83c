"""Logs: one JSON object a line on stderr. An error is its type and where it happened; its message and its variables
may hold what people or agents wrote, and stay out. Which request, job or attempt it was comes from structlog's context.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any

import structlog


def logging_settings(level: str) -> dict[str, Any]:
    """For Django's LOGGING: everything through the same formatter.

    Libraries speak from INFO on at most: at DEBUG some log whole requests, or statements with all their values.
    """
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": _SHARED,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.JSONRenderer(sort_keys=True),
                ],
            }
        },
        "filters": {"errors": {"()": _ErrorsByType}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "filters": ["errors"]}},
        "root": {"handlers": ["stderr"], "level": "INFO" if level == "DEBUG" else level},
        "loggers": {name: {"level": level} for name in ("apps", "config", "tikitaka")},
    }


class _ErrorsByType(logging.Filter):
    """Libraries write errors into their messages; here too an error is its type."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(type(arg).__name__ if isinstance(arg, BaseException) else arg for arg in record.args)
        return True


def configure_structlog() -> None:
    """structlog in front of the standard library's logging."""
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def _without_words(_: Any, __: str, event: dict[str, Any]) -> dict[str, Any]:
    """exc_info as the error's type and its places."""
    info = event.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()
    elif isinstance(info, BaseException):
        info = (type(info), info, info.__traceback__)
    if isinstance(info, tuple) and info[0] is not None:
        places = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(info[2])]
        event |= {"error_type": info[0].__name__, "error_places": places}
    return event


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    _without_words,
]
