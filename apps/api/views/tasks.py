"""Tasks, their nodes and attempts, and what was said."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.idempotency import once
from apps.api.reading import Rows
from apps.api.shapes.base import Nothing, PageQuery
from apps.api.shapes.work import (
    AttemptShape,
    ContextShape,
    MessageShape,
    NewTask,
    NodeShape,
    SpanShape,
    Submission,
    TaskQuery,
    TaskShape,
)
from apps.api.views.base import KEY, Door, StreamRenderer, page_of
from apps.audit.stream import task_stream
from apps.conductor import story
from apps.conductor.wake import wake
from apps.context.models import ContextSnapshot
from apps.tasks.models import Attempt, Message, PlanNode, Span, Task
from apps.tasks.services.plan import approve_plan
from apps.teams.models import Team
from tikitaka.authz import Permission
from tikitaka.scheduling.budget import Limits

RUN = Permission.TASK_RUN


class Tasks(Door):
    names: ClassVar = {"GET": "list_tasks", "POST": "submit_task"}

    @extend_schema(parameters=[PageQuery, TaskQuery], responses=page_of(TaskShape))
    def get(self, request: Request) -> Response:
        """The tasks of your teams."""
        return self.page(self.rows(Task).where(**TaskQuery.of(request)), TaskShape, TaskQuery)

    @extend_schema(request=NewTask, responses={201: Submission}, parameters=[KEY])
    def post(self, request: Request) -> Response:
        """Submits a prompt to a team, or a ready plan with it. The prompt is delivered to agents as it is."""
        asked = NewTask.read(request)
        team = self.reach(Team, asked["team"], RUN)
        limits = Limits(attempts=asked.get("attempts_max"), tokens=asked.get("tokens_max"))

        def act() -> Response:
            submitted = story.submit(
                actor=self.actor,
                team=team,
                prompt=asked["prompt"],
                plan=asked.get("plan"),
                plan_only=asked["plan_only"],
                limits=limits,
            )
            found = self.shown(Task, submitted.task.pk, TaskShape)
            return Response({**found, "looks_secret": bool(submitted.looks_secret)}, status=201)

        return once(request, act)


class OneTask(Door):
    names: ClassVar = {"GET": "get_task"}

    @extend_schema(responses=TaskShape)
    def get(self, request: Request, task: UUID) -> Response:
        """One task."""
        return Response(self.found(Task, task, TaskShape))


class _TaskDeed(Door):
    """Something that is done to a task; answers with the task as it is then."""

    def deed(self, task: Task) -> None:
        raise NotImplementedError

    @extend_schema(request=Nothing, responses=TaskShape, parameters=[KEY])
    def post(self, request: Request, task: UUID) -> Response:
        Nothing.read(request)
        found = self.reach(Task, task, RUN, select="team")

        def act() -> Response:
            self.deed(found)
            return Response(self.shown(Task, task, TaskShape))

        return once(request, act)


class TaskApproval(_TaskDeed):
    """Lets a task run that stopped after planning."""

    names: ClassVar = {"POST": "approve_plan"}

    def deed(self, task: Task) -> None:
        approve_plan(actor=self.actor, task=task)
        wake("dispatch", task.team_id)


class TaskCancellation(_TaskDeed):
    """Stops a task. Attempts that run are killed; one that is leased is told at its next heartbeat."""

    names: ClassVar = {"POST": "cancel_task"}

    def deed(self, task: Task) -> None:
        story.cancel(actor=self.actor, task=task)


class TaskResumption(_TaskDeed):
    """Runs again what did not finish; finished work stays."""

    names: ClassVar = {"POST": "resume_task"}

    def deed(self, task: Task) -> None:
        story.resume(actor=self.actor, task=task)


class TaskNodes(Door):
    names: ClassVar = {"GET": "list_nodes"}

    @extend_schema(parameters=[PageQuery], responses=page_of(NodeShape))
    def get(self, request: Request, task: UUID) -> Response:
        """The nodes of a task's graph."""
        self.reach(Task, task)
        return self.page(Rows(PlanNode).where(task=task), NodeShape, by="index", read=int)


class OneNode(Door):
    names: ClassVar = {"GET": "get_node"}

    @extend_schema(responses=NodeShape)
    def get(self, request: Request, node: UUID) -> Response:
        """One node."""
        return Response(self.found(PlanNode, node, NodeShape, path="task__team"))


class NodeRetry(Door):
    names: ClassVar = {"POST": "retry_node"}

    @extend_schema(request=Nothing, responses=NodeShape, parameters=[KEY])
    def post(self, request: Request, node: UUID) -> Response:
        """Runs a failed node of a settled task again, and what it blocked; what else failed stays as it is."""
        Nothing.read(request)
        found = self.reach(PlanNode, node, RUN, path="task__team", select="task__team")

        def act() -> Response:
            story.resume(actor=self.actor, task=found.task, node=found.pk)
            return Response(self.shown(PlanNode, node, NodeShape))

        return once(request, act)


class TaskAttempts(Door):
    names: ClassVar = {"GET": "list_attempts"}

    @extend_schema(parameters=[PageQuery], responses=page_of(AttemptShape))
    def get(self, request: Request, task: UUID) -> Response:
        """Every attempt of a task."""
        self.reach(Task, task)
        return self.page(Rows(Attempt).where(task=task), AttemptShape)


class OneAttempt(Door):
    names: ClassVar = {"GET": "get_attempt"}

    @extend_schema(responses=AttemptShape)
    def get(self, request: Request, attempt: UUID) -> Response:
        """One attempt."""
        return Response(self.found(Attempt, attempt, AttemptShape, path="task__team"))


class AttemptSpans(Door):
    names: ClassVar = {"GET": "list_spans"}

    @extend_schema(parameters=[PageQuery], responses=page_of(SpanShape))
    def get(self, request: Request, attempt: UUID) -> Response:
        """What an agent did in an attempt, redacted when it was captured."""
        self.reach(Attempt, attempt, path="task__team")
        return self.page(Rows(Span).where(attempt=attempt), SpanShape, by="seq", read=int)


class AttemptContext(Door):
    names: ClassVar = {"GET": "get_context"}

    @extend_schema(responses=ContextShape)
    def get(self, request: Request, attempt: UUID) -> Response:
        """What an attempt was given, as it was saved before the attempt began."""
        snapshot = self.reach(ContextSnapshot, self._snapshot(attempt), path="attempt__task__team")
        return Response(self.shown(ContextSnapshot, snapshot.pk, ContextShape))

    @staticmethod
    def _snapshot(attempt: UUID) -> UUID:
        found = ContextSnapshot.objects.filter(attempt=attempt).values_list("pk", flat=True).first()
        return found or attempt


class TaskMessages(Door):
    names: ClassVar = {"GET": "list_messages"}

    @extend_schema(parameters=[PageQuery], responses=page_of(MessageShape))
    def get(self, request: Request, task: UUID) -> Response:
        """What was said in a task, in the order of the team's log."""
        self.reach(Task, task)
        return self.page(Rows(Message).where(task=task), MessageShape, by="seq", read=int)


class EventRenderer(StreamRenderer):
    media_type = "text/event-stream"
    format = "events"


class TaskEvents(Door):
    names: ClassVar = {"GET": "follow_task"}
    renderer_classes = [EventRenderer, JSONRenderer]

    @extend_schema(
        parameters=[
            OpenApiParameter("Last-Event-ID", str, OpenApiParameter.HEADER, description="go on behind this event"),
        ],
        responses={(200, "text/event-stream"): OpenApiResponse(OpenApiTypes.STR, description="server-sent events")},
    )
    def get(self, request: Request, task: UUID) -> HttpResponseBase:
        """Server-sent events until the task has ended: `state` when a node changes, `feed` for a span, `end`."""
        found = self.reach(Task, task)
        return task_stream(self.actor, found.pk, request.headers.get("Last-Event-ID", ""))
