"""Submitting a task, and what may be done to one: approve its plan, cancel, resume; and ending a thread of work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from apps.accounts.selectors import containers_with
from apps.accounts.sessions import principal
from apps.conductor import story
from apps.conductor.wake import wake
from apps.console.budgets import limits_of
from apps.console.identity import abilities, holds_anywhere
from apps.console.views.forms import TaskForm
from apps.console.views.live import task_of
from apps.tasks.models import Task
from apps.tasks.services.plan import approve_plan
from apps.teams.models import Team
from apps.teams.selectors import access_team
from tikitaka.authz import Permission, Principal
from tikitaka.errors import Forbidden, NotFound, TikiTakaError


@login_required
def new_task(request: HttpRequest) -> HttpResponse:
    """The form, and what comes of it; words that look like a secret are pointed out."""
    if not holds_anywhere(request, Permission.TASK_RUN):
        raise PermissionDenied("run_task: no_grant")
    who = principal(request)
    form = TaskForm(request.POST or None, teams=containers_with(who, Permission.TASK_RUN, Team))
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            submitted = story.submit(
                actor=who,
                team=data["team"],
                prompt=data["prompt"],
                plan_only=data["plan_only"],
                limits=limits_of(data),
            )
        except TikiTakaError as error:
            form.refuse(error)
        else:
            messages.success(request, "Submitted.")
            if submitted.looks_secret:
                rules = ", ".join(sorted({finding.rule for finding in submitted.looks_secret}))
                messages.warning(
                    request,
                    f"The goal looks as if it held a secret ({rules}). The agents get it as you typed it; it is"
                    " replaced in everything derived from it. Cancel the task if that was a mistake.",
                )
            return redirect("console:task", submitted.task.pk)
    context = {"form": form, "can": abilities(request)}
    return render(request, "console/task_new.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def cancel(request: HttpRequest, task: UUID) -> HttpResponse:
    return _do(request, task, "It is being cancelled.", story.cancel)


@login_required
@require_POST
def resume(request: HttpRequest, task: UUID) -> HttpResponse:
    return _do(request, task, "It goes on with what did not finish.", story.resume)


@login_required
@require_POST
def approve(request: HttpRequest, task: UUID) -> HttpResponse:
    def act(*, actor: Principal, task: Task) -> None:
        approve_plan(actor=actor, task=task)
        wake("dispatch", task.team_id)

    return _do(request, task, "The plan is approved; it runs.", act)


@login_required
@require_POST
def close_thread(request: HttpRequest, team: UUID) -> HttpResponse:
    """Ends the open thread of work, so that its notes are distilled now."""
    try:
        row = access_team(principal(request), team, Permission.ORGANIZATION_VIEW)
    except NotFound as error:
        raise Http404 from error
    _try(
        request,
        "The thread of work is closed; its notes come when its tasks have ended.",
        lambda: story.close_thread(actor=principal(request), team=row),
    )
    return redirect("console:home")


def _do(request: HttpRequest, task: UUID, text: str, act: Callable[..., Any]) -> HttpResponse:
    row = task_of(request, task)
    _try(request, text, lambda: act(actor=principal(request), task=row))
    return redirect("console:task", row.pk)


def _try(request: HttpRequest, text: str, act: Callable[[], Any]) -> None:
    """Does it and says so, or says why not."""
    try:
        act()
    except Forbidden as error:
        raise PermissionDenied(error.detail) from error
    except TikiTakaError as error:
        messages.error(request, f"{error.code}: {error.detail}")
    else:
        messages.success(request, text)
