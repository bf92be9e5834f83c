"""Tasks, their graphs, and everything one attempt leaves behind."""

from django.apps import AppConfig


class TasksConfig(AppConfig):
    name = "apps.tasks"
    verbose_name = "Tasks"
