"""The price list of the installation, from the environment."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured

from tikitaka.errors import Invalid
from tikitaka.scheduling.prices import Price, price_list


def prices(text: str) -> dict[str, Price]:
    """Prices by the name of a model or a runtime; refuses by name what is no price list."""
    try:
        return price_list(text)
    except Invalid as error:
        raise ImproperlyConfigured(f"TIKITAKA_PRICES {error.fields['prices']}") from error
