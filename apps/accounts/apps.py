"""Organizations, people and the roles between them."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "apps.accounts"
    verbose_name = "People"
