"""Pages of our own."""

from django.urls import path

from apps.console.views import health, home, live

app_name = "console"
urlpatterns = [
    path("", home.home, name="home"),
    path("tasks/<uuid:task>/", live.task_page, name="task"),
    path("tasks/<uuid:task>/events/", live.task_events, name="task-events"),
    path("healthz", health.healthz, name="healthz"),
]
