"""Every threshold and cap, in one frozen object with its own digest.

Doors never pass a Policy; the environment may override single values within their range, tests and benchmarks may
build their own. The digest is stored with what the policy decided.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, get_args

from tikitaka.errors import Invalid

SegmentSignal = Literal["fitted", "drift", "jsd"]
RecognitionScore = Literal["logistic", "cosine"]
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "segment_signal": get_args(SegmentSignal),
    "recognition_score": get_args(RecognitionScore),
}


def _bounded(default: int, low: int, high: int) -> Any:
    return field(default=default, metadata={"range": (low, high)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Counts are counts, `*_s` are seconds, `*_bp` basis points, `*_bytes` bytes, everything else characters."""

    team_agents_min: int = _bounded(2, 2, 8)
    team_agents_max: int = _bounded(8, 2, 8)
    name_chars: int = _bounded(80, 1, 80)
    description_chars: int = _bounded(500, 1, 500)
    instructions_chars: int = _bounded(10_000, 1, 10_000)
    prompt_chars: int = _bounded(50_000, 1, 50_000)

    plan_nodes_max: int = _bounded(8, 1, 8)
    node_instruction_chars: int = _bounded(1_200, 1, 1_200)
    node_expected_output_chars: int = _bounded(300, 1, 300)
    node_role_chars: int = _bounded(60, 1, 60)
    planner_timeout_s: int = _bounded(120, 1, 600)

    width: int = _bounded(4, 1, 8)
    node_attempts_max: int = _bounded(2, 1, 2)
    turn_timeout_s: int = _bounded(600, 1, 3_600)
    output_bytes_max: int = _bounded(2 * 1024 * 1024, 65_536, 8 * 1024 * 1024)
    span_text_chars: int = _bounded(4_000, 100, 4_000)
    lease_s: int = _bounded(60, 5, 600)
    lease_renew_s: int = _bounded(20, 1, 200)

    segment_signal: SegmentSignal = "fitted"
    segment_drift_bp: int = _bounded(8_400, 0, 20_000)
    segment_jsd_bp: int = _bounded(9_000, 0, 10_000)
    segment_jsd_terms_min: int = _bounded(8, 1, 100)
    segment_tasks_max: int = _bounded(8, 1, 64)
    segment_chars_max: int = _bounded(120_000, 1_000, 1_000_000)
    segment_idle_s: int = _bounded(1_800, 1, 604_800)
    node_drift_bp: int = _bounded(5_500, 0, 20_000)
    node_drift_nodes_min: int = _bounded(4, 2, 8)

    notes_per_flush_max: int = _bounded(8, 1, 8)
    note_content_chars: int = _bounded(2_000, 1, 2_000)
    note_description_chars: int = _bounded(300, 1, 300)
    note_rationale_chars: int = _bounded(1_000, 1, 1_000)
    extractor_timeout_s: int = _bounded(120, 1, 600)
    extractor_buffer_chars: int = _bounded(120_000, 1_000, 1_000_000)
    extractor_transcript_share_bp: int = _bounded(6_000, 0, 10_000)
    flush_attempts_max: int = _bounded(3, 1, 3)

    recognition_score: RecognitionScore = "logistic"
    cosine_threshold_bp: int = _bounded(3_000, 0, 10_000)
    skill_threshold_bp: int = _bounded(4_500, 0, 10_000)
    duplicate_bp: int = _bounded(9_000, 0, 10_000)
    possible_update_bp: int = _bounded(6_000, 0, 10_000)

    instructions_file_bytes: int = _bounded(32_768, 1_024, 32_768)
    skill_description_chars: int = _bounded(1_024, 1, 1_024)
    skill_body_lines_max: int = _bounded(499, 1, 499)
    catalogue_chars: int = _bounded(8_000, 100, 8_000)

    confirm_age_s: int = _bounded(900, 30, 86_400)

    review_all: bool = False
    auto_grant: bool = False
    review_due_s: int = _bounded(259_200, 60, 2_592_000)
    note_life_s: int = _bounded(90 * 86_400, 60, 3_650 * 86_400)
    proposals_max: int = _bounded(8, 0, 64)
    token_days_max: int = _bounded(90, 1, 90)
    requests_per_minute: int = _bounded(600, 1, 1_000_000)
    retention_s: int = _bounded(0, 0, 3_650 * 86_400)

    webhook_endpoints_max: int = _bounded(20, 1, 100)
    webhook_timeout_s: int = _bounded(10, 1, 30)
    webhook_life_s: int = _bounded(3 * 86_400, 60, 30 * 86_400)
    webhook_overlap_s: int = _bounded(86_400, 0, 30 * 86_400)
    webhook_log_s: int = _bounded(30 * 86_400, 3_600, 3_650 * 86_400)

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON of all values, in hex."""
        return _digest(self)


@lru_cache(maxsize=8)
def _digest(policy: Policy) -> str:
    """Every note carries it, and a process has one policy."""
    values = json.dumps(dataclasses.asdict(policy), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(values.encode()).hexdigest()


DEFAULT = Policy()


def from_environment(environ: Mapping[str, str], *, prefix: str = "TIKITAKA_POLICY_") -> Policy:
    """The default policy with the overrides that the environment names; raises Invalid that names the variable."""
    changes: dict[str, Any] = {}
    by_variable = {prefix + item.name.upper(): item for item in dataclasses.fields(Policy)}
    for variable, text in environ.items():
        if not variable.startswith(prefix):
            continue
        item = by_variable.get(variable)
        if item is None:
            raise Invalid(**{variable: "is not a policy value"})
        if item.name == "auto_grant":
            raise Invalid(**{variable: "automatic grants need a promoted calibration, not a variable"})
        changes[item.name] = _parse(variable, text, item)
    policy = dataclasses.replace(DEFAULT, **changes)
    if policy.lease_renew_s * 2 > policy.lease_s:
        raise Invalid(**{prefix + "LEASE_RENEW_S": "must be at most half of LEASE_S"})
    return policy


def _parse(variable: str, text: str, item: dataclasses.Field[Any]) -> int | bool | str:
    choices = _CHOICES.get(item.name)
    if choices is not None:
        if text not in choices:
            raise Invalid(**{variable: f"must be {', '.join(choices[:-1])} or {choices[-1]}"})
        return text
    if isinstance(item.default, bool):
        if text not in ("0", "1", "true", "false"):
            raise Invalid(**{variable: "must be true or false"})
        return text in ("1", "true")
    low, high = item.metadata["range"]
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise Invalid(**{variable: f"must be a whole number from {low} to {high}"})
    return int(text)
