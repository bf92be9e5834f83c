"""Language models: openai (any compatible endpoint), replay (answers kept in files), off. None replaces another."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from tikitaka.ports import LanguageModel


def language_model(kind: str) -> LanguageModel:
    """The configured model of one kind; raises ImproperlyConfigured when its settings are missing."""
    if kind == "off":
        from apps.providers.language.off import OffModel

        return OffModel()
    if kind == "replay":
        from apps.providers.language.replay import ReplayModel

        return ReplayModel(settings.TIKITAKA_REPLAY)
    if not settings.TIKITAKA_MODEL_URL or not settings.TIKITAKA_MODEL_NAME:
        raise ImproperlyConfigured("the openai provider needs TIKITAKA_MODEL_URL and TIKITAKA_MODEL_NAME")
    from apps.providers.language.openai import OpenAiModel

    return OpenAiModel(
        url=settings.TIKITAKA_MODEL_URL, name=settings.TIKITAKA_MODEL_NAME, key=settings.TIKITAKA_MODEL_KEY
    )


def planner() -> LanguageModel:
    """The model that plans."""
    return language_model(settings.TIKITAKA_PLANNER)


def extractor() -> LanguageModel:
    """The model that distils notes."""
    return language_model(settings.TIKITAKA_EXTRACTOR)
