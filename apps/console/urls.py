"""Pages of our own."""

from django.urls import path

from apps.console.views import health, home, live, metrics, notes, tokens, work

app_name = "console"
urlpatterns = [
    path("", home.home, name="home"),
    path("tasks/new/", work.new_task, name="task-new"),
    path("tasks/<uuid:task>/", live.task_page, name="task"),
    path("tasks/<uuid:task>/events/", live.task_events, name="task-events"),
    path("tasks/<uuid:task>/approve-plan/", work.approve, name="task-approve-plan"),
    path("tasks/<uuid:task>/cancel/", work.cancel, name="task-cancel"),
    path("tasks/<uuid:task>/resume/", work.resume, name="task-resume"),
    path("teams/<uuid:team>/close-thread/", work.close_thread, name="close-thread"),
    path("notes/new/", notes.new_note, name="note-new"),
    path("tokens/new/", tokens.new_token, name="token-new"),
    path("agents/<uuid:agent>/token/", tokens.new_agent_token, name="agent-token-new"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
]
