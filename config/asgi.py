"""The site for uvicorn: pages and event streams."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")
application = get_asgi_application()
