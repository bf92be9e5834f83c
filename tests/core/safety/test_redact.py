from __future__ import annotations

import json
import random
import re
import unicodedata
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.safety import secret_samples
from tikitaka.safety import blobs, keyed_values, patterns, redact, redact_captured
from tikitaka.safety.findings import MASK, Hit

CASES = Path(__file__).parents[2] / "cases"
BENIGN = [json.loads(line)["text"] for line in (CASES / "benign.jsonl").read_text("utf-8").splitlines()]
RNG = random.Random(11)


def is_gone(text: str, secret: str) -> bool:
    """Gone as text, and no eight characters of its last two thirds left once invisible characters are out."""
    if secret in text:
        return False
    seen, tail = (
        "".join(c for c in unicodedata.normalize("NFKC", part) if unicodedata.category(c) != "Cf")
        for part in (text, secret)
    )
    tail = tail[len(tail) // 3 :]
    return not any(tail[at : at + 8] in seen for at in range(max(1, len(tail) - 7)))


def test_every_kind_of_secret_is_replaced_and_its_neighbors_stay():
    missed = defaultdict(list)
    total = defaultdict(int)
    for sample in (*secret_samples.samples(7), *secret_samples.samples(8)):
        text = redact(sample.text).text
        for secret in sample.secrets:
            total[sample.kind] += 1
            if not is_gone(text, secret):
                missed[sample.kind].append(sample.text)
        for neighbor in sample.keep:
            assert neighbor in text, sample.text

    assert sum(len(texts) for texts in missed.values()) <= 0.01 * sum(total.values()), dict(missed)
    for kind, texts in missed.items():
        assert len(texts) <= 0.05 * total[kind], texts


@pytest.mark.parametrize("text", BENIGN)
def test_text_without_a_secret_is_not_changed_by_one_character(text):
    assert redact(text).text == text


@pytest.mark.parametrize(
    "shape",
    [
        "git revert {sha}",
        "image registry.example.com/app@sha256:{hex64}",
        "request {uuid} failed in the auth step",
        "max_tokens: 4096",
        "password: changeme",
        "DB_PASSWORD=${{DB_PASSWORD}}",
        "Authorization: Bearer $TOKEN",
        "password = os.environ['DB_PASSWORD']",
        "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbC1dE",
        "PASSWORD_HASHERS = ['Argon2PasswordHasher']",
        "password for web-prod-eu-01 is stored in the vault",
        "JIRA-1234: rotate the token of build 20240512.3",
        "docker run -p 8080:80 nginx:1.25",
        "postgres://user:password@localhost/db",
        "{{'password': {{'type': 'string'}}}}",
        "etag: {hex32}",
    ],
)
def test_references_digests_and_names_pass(shape):
    hexes = {f"hex{n}": secret_samples.letters(RNG, secret_samples.HEX, n) for n in (32, 64)}
    text = shape.format(sha=secret_samples.letters(RNG, secret_samples.HEX, 40), uuid=secret_samples.uuid(RNG), **hexes)

    assert redact(text).text == text


def test_a_key_that_holds_a_dot_is_masked_whole():
    value = "sk-" + "zz-AAAA1111.bbbb2222_CC-33"

    assert redact(f"use {value} now").text == f"use {MASK} now"


def test_a_forty_digit_hex_value_is_secret_only_under_a_secret_name():
    value = secret_samples.letters(RNG, secret_samples.HEX, 40)

    assert redact(f"SECRET_KEY={value}").text == f"SECRET_KEY={MASK}"
    assert redact(f"commit {value}").text == f"commit {value}"


def test_findings_point_into_the_input_and_never_repeat_the_secret():
    for sample in secret_samples.samples(9):
        redaction = redact(sample.text)
        for finding in redaction.findings:
            assert 0 <= finding.start < finding.end <= len(sample.text)
            assert finding.family == "secret"
            assert not any(secret in finding.detail or secret in finding.rule for secret in sample.secrets)
        marked = "".join(sample.text[f.start : f.end] for f in redaction.findings)
        assert all(secret in marked or not is_gone(sample.text, secret) for secret in sample.secrets)


def test_redacting_twice_changes_nothing():
    for sample in secret_samples.samples(10):
        once = redact(sample.text).text
        assert redact(once).text == once
        assert redact(once).findings == ()


WORDS = """password token = : " ' Abc12345! a1b2c3d4e5f6 :// @ %41 key QUJDREVG ${X} ** is пароль 密码 \\u0041 / ;"""
HEADER = "-----BEGIN " + "RSA PRIVATE KEY-----"
PIECES = st.sampled_from([*WORDS.split(), MASK, "&#65;", "\n", " ", "\u200b", HEADER])


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_redaction_is_idempotent_on_any_mixture(text):
    once = redact(text).text

    assert redact(once).text == once


def test_what_was_redacted_before_changes_nothing():
    texts = [f"{sample.text:300.300}" for sample in secret_samples.samples(9)]
    in_a_row = [redact(text) for text in [*texts, *texts]]
    alone = []
    for text in texts:
        for kept in (keyed_values.keys_in, blobs._decode_word, patterns._folded):
            kept.cache_clear()
        alone.append(redact(text))

    assert in_a_row == [*alone, *alone]


@given(st.text(alphabet='aZ_.$@%/-\n ="\u00e9', max_size=90))
def test_the_part_of_a_name_before_a_secret_word_is_all_that_may_stand_in_one(text):
    found = re.search(r"[\w.$@%/-]{0,64}$", text[-64:])

    assert keyed_values._before(text + "password", len(text)) == (found.group() if found else "")


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200))
def test_any_text_can_be_redacted(text):
    redaction = redact(text)

    assert bool(redaction.findings) == (redaction.text != text)


def test_secrets_that_cannot_be_cut_out_hide_the_whole_text():
    def grows(text):
        """Finds something new after every mask, as no real rule should."""
        at = text.rfind("x")
        if at >= 0:
            yield Hit("test.grows", at, at + 1, "One more.")

    redaction = redact("x" * 50, detectors=(grows,))

    assert redaction.text == MASK
    assert redaction.findings[-1].rule == "secret.unsettled"


def test_captured_output_is_withheld_when_a_rule_breaks():
    def breaks(text):
        raise RuntimeError(text)

    redaction = redact_captured("secret words", detectors=(breaks,))

    assert redaction.text == "[UNSCREENED TEXT WITHHELD]"
    assert [(f.rule, f.family) for f in redaction.findings] == [("safety_error", "failure")]
    assert "secret words" not in redaction.findings[0].detail


def test_captured_output_loses_its_secrets():
    value = secret_samples.password(RNG)

    assert re.fullmatch(rf"export DB_PASSWORD={re.escape(MASK)}", redact_captured(f"export DB_PASSWORD={value}").text)


def test_what_shows_only_after_a_first_mask_is_placed_in_the_original_text():
    def unpeels(text):
        """Sees the last word only when the first is masked."""
        word = "first-secret" if "first-secret" in text else "last-secret"
        at = text.find(word)
        if at >= 0:
            yield Hit("test.unpeels", at, at + len(word), "One of two.")

    text = "a first-secret and b last-secret!"

    redaction = redact(text, detectors=(unpeels,))

    assert redaction.text == f"a {MASK} and b {MASK}!"
    assert [text[f.start : f.end] for f in redaction.findings] == ["first-secret", "last-secret"]


@pytest.mark.parametrize("shape", ["log in as admin with {}", "Zugangsdaten: admin / {}", "account deploy: {}"])
def test_a_password_behind_a_user_name_is_masked(shape):
    value = "Umber" + "7741" + "!"

    assert redact(shape.format(value)).text == shape.format(MASK)


@pytest.mark.parametrize(
    "text", ['("auth", "0004_alter_user_username_opts")', "auth_status = HTTP_405_METHOD_NOT_ALLOWED"]
)
def test_words_joined_by_marks_are_no_generated_text(text):
    assert redact(text).text == text


def test_generated_text_is_masked_next_to_a_hint_and_left_alone_without_one():
    value = "Zk3" + secret_samples.letters(random.Random(5), secret_samples.ALNUM, 45)

    assert redact(f"please revoke {value} today").text == f"please revoke {MASK} today"
    assert redact(f"the fixture decodes to {value} today").text == f"the fixture decodes to {value} today"


def test_any_scheme_of_an_authorization_header_is_masked():
    value = secret_samples.uuid(RNG)

    assert redact(f"Authorization: GenieKey {value}").text == f"Authorization: GenieKey {MASK}"
