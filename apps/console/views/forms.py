"""What a person types on the pages of our own. Limits and refusals are the services'; their fields are ours."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS

from apps.accounts.models import Organization
from apps.console.budgets import limit_fields
from apps.teams.models import Team
from tikitaka.authz import MACHINE_SCOPES
from tikitaka.errors import Invalid, TikiTakaError
from tikitaka.notes.contract import Severity
from tikitaka.policy import DEFAULT
from tikitaka.safety import show_hidden


class _Labeled:
    def label_from_instance(self, obj: Any) -> str:
        return show_hidden(f"{obj.name} of {obj.organization.name}")


class _TeamField(_Labeled, forms.ModelChoiceField):  # type: ignore[type-arg]
    """One team."""


class _RefusableForm(forms.Form):
    """A form whose service may refuse: the reason goes to the field that it is about."""

    required_css_class = "required"

    def refuse(self, error: TikiTakaError) -> None:
        """Shows a refusal of the service."""
        if not isinstance(error, Invalid):
            self.add_error(None, f"{error.code}: {error.detail}")
            return
        for name, problem in error.fields.items():
            self.add_error(name if name in self.fields else None, f"{name} {problem}")

    @property
    def refusals(self) -> Any:
        """What concerns no single field."""
        return self.errors.get(NON_FIELD_ERRORS, [])


class _PlainForm(_RefusableForm):
    """The same about a team."""

    team = _TeamField(queryset=Team.objects.none(), empty_label=None)

    def __init__(self, *args: Any, teams: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["team"]
        field.queryset = _living(teams)


def _living(teams: Any) -> Any:
    return teams.filter(archived_at=None).select_related("organization").order_by("name")


class NoteForm(_PlainForm):
    content = forms.CharField(
        label="Statement",
        widget=forms.Textarea(attrs={"rows": 5, "maxlength": DEFAULT.note_content_chars}),
        help_text="One rule or fact, in words that hold without the task they came from.",
    )
    description = forms.CharField(
        label="When it matters",
        widget=forms.TextInput(attrs={"maxlength": DEFAULT.note_description_chars}),
        help_text="An agent reads this line to decide whether to open the note.",
    )
    severity = forms.ChoiceField(
        choices=[
            (Severity.NORMAL.value, "normal: a skill that the agent opens when it fits"),
            (Severity.SEVERE.value, "severe: a standing rule at the top of the agent's instructions"),
        ],
        initial=Severity.NORMAL.value,
    )
    skill_key = forms.CharField(
        required=False,
        label="Skill key",
        widget=forms.TextInput(attrs={"maxlength": 200}),
        help_text="Small letters, digits and dashes, 3 to 64. Left empty, one is made.",
    )
    rationale = forms.CharField(
        required=False,
        label="Why keep it",
        widget=forms.Textarea(attrs={"rows": 2, "maxlength": DEFAULT.note_rationale_chars}),
    )

    def clean_content(self) -> str:
        return str(self.cleaned_data["content"]).replace("\r\n", "\n")

    def clean_rationale(self) -> str:
        return str(self.cleaned_data["rationale"]).replace("\r\n", "\n")


class TaskForm(_PlainForm):
    prompt = forms.CharField(
        label="Goal",
        widget=forms.Textarea(attrs={"rows": 8, "maxlength": DEFAULT.prompt_chars}),
        help_text="What the team is to reach. It is planned as a graph over the team's agents.",
    )
    plan_only = forms.BooleanField(required=False, label="Only plan; somebody approves the plan before it runs")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields |= limit_fields()

    def clean_prompt(self) -> str:
        return str(self.cleaned_data["prompt"]).replace("\r\n", "\n")


class _TeamsField(_Labeled, forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Several."""


class AgentTokenForm(_RefusableForm):
    name = forms.CharField(
        widget=forms.TextInput(attrs={"maxlength": DEFAULT.name_chars}), help_text="Who or what will hold it."
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=DEFAULT.token_days_max,
        initial=30,
        label="Days until it expires",
        help_text=f"At most {DEFAULT.token_days_max}.",
    )


class TokenForm(AgentTokenForm):
    organization = forms.ModelChoiceField(queryset=Organization.objects.none(), empty_label=None)
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope.replace("_", " ")) for scope in sorted(scope.value for scope in MACHINE_SCOPES)],
        widget=forms.CheckboxSelectMultiple,
        label="What it may do",
    )
    teams = _TeamsField(
        queryset=Team.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="For which teams",
        help_text="Choose none for all teams of the organization, also those to come.",
    )
    field_order = ("organization", "name", "scopes", "teams", "days")

    def __init__(self, *args: Any, organizations: Any, teams: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: Any = self.fields
        fields["organization"].queryset = organizations.order_by("name")
        fields["teams"].queryset = _living(teams)
