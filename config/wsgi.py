"""The site for a WSGI server; event streams need config.asgi."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")
application = get_wsgi_application()
