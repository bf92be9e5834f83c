"""Where the doors are."""

from django.contrib import admin
from django.urls import include, path

handler500 = "apps.console.views.health.error"
urlpatterns = [
    path("api/", include("apps.api.urls")),
    path("", include("apps.console.urls")),
    path("admin/", admin.site.urls),
]
