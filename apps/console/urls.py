"""Pages of our own."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
