"""Where the doors are."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("apps.console.urls")),
    path("admin/", admin.site.urls),
]
