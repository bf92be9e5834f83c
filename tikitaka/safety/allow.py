"""Values that are no secrets: references to one, placeholders, vendors' samples, names of things."""

from __future__ import annotations

import re

from tikitaka.safety.findings import MASK
from tikitaka.safety.shape import Grade, grade

_REFERENCE = re.compile(
    r"\$\{|\$\(|\{\{|<[A-Za-z_/$]|%\(|(?i:%[a-z_]{2,40}(?:\(x86\))?%)|%s|\{[A-Za-z_.]{0,40}\}|@\{|#\{|"
    r"(?i:os\.environ|os\.getenv|getenv|process\.env|import\.meta|env\[|env\.|env\(|environ|"
    r"secrets\.|secret\(|vault:|"
    r"op://|bws:|ssm:|sm://|akv:|keyvault|awssm|gcpsm|sops:|enc\[|!vault|!secret|!ref|!sub|!env|"
    r"config\.|config\[|settings\.|"
    r"self\.|this\.|var\.|local\.|data\.|module\.|params\.|args\.|opts\.|options\.|request\.|"
    r"req\.|ctx\.|app\.|"
    r"arn:aws|projects/|secretsmanager|valuefrom|file://|lookup\(|ref\+|\[\[|input\(|getpass|prompt\()"
)
_TEMPLATE = re.compile(r"\{[A-Za-z_.]{1,40}\}|<[a-z][a-z_ -]{1,40}>|\$\{|[{]{2}")
_VARIABLE = re.compile(r"\$(?:env:)?([A-Za-z_][A-Za-z0-9_]{0,60})[\"')\]}]?(?:[/:.,;@-].{0,100})?")
_DUMMY_WORDS = (
    "changeme change_me change-me replaceme replace_me replace-me example sample dummy "
    "placeholder fake redacted removed hidden "
    "masked secret password passwd pass pwd token key apikey api_key api-key secretkey mysecret "
    "mypassword mytoken mykey xxx todo "
    "tbd none null nil undefined true false yes no on off required optional string str text "
    "number int integer bool boolean object "
    "array any empty unset default unknown test testing foo bar baz value foobar user username "
    "admin root guest auto prompt "
    "environment vault keychain keyring here below above later missing invalid expired valid "
    "wrong correct incorrect rotated "
    "revoked disabled enabled present absent set not is was the a an and or in from via see ask "
    "same none. n/a na private public "
    "basic bearer digest jwt oauth oauth2 saml ldap sso mfa 2fa plaintext plain encrypted hashed "
    "env file stdin interactive "
    "postgres mysql redis rabbitmq minio minioadmin neo4j elastic sa demo localhost"
)
DUMMIES = frozenset(_DUMMY_WORDS.split())
_DUMMY_SHAPE = re.compile(
    r"(?i)(?:your|my|our|the|some|any|a)[-_. ]?[a-z_. -]{0,40}(?:key|token|secret|password|"
    r"passwd|pass|value|here|id|credential)s?"
    r"(?:[-_ ]?(?:here|goes[-_ ]here))?|"
    r"(?:your|insert|enter|put|add|replace|change|fill|set|paste)[-_ ][a-z_. -]{1,60}|"
    r"[x*.•●_#?-]{3,400}|(?:[a-z]{2,8}[-_])?x{4,80}|[a-z0-9]{0,8}[*•●x]{4,80}[a-z0-9]{0,6}|0{6,"
    r"64}|1234567?8?9?0?|"
    r"(?:password|passwd|passwort|secret|token|key|user|admin|test|foo|bar)[0-9]?|[a-z_]{2,30}=[0-9]{1,4}|"
    r"(?:abc|123|xyz){2,12}|\.{3}|…|[a-z]{0,10}-?(?:\.{3}|…)[a-z0-9]{0,6}|"
    r"(?:not|no|a|some|any|fake|dummy|example|sample|test|placeholder|redacted|mock|stub|fixture)"
    r"[-_ ]?[a-z_-]{0,30}|"
    r"[a-z_-]{0,30}[-_ ](?:here|placeholder|example|sample|dummy|redacted)"
)
_SAMPLES = re.compile(
    r"AKIA(?:IOSFODNN7|I44QH8DHB)EXAMPLE|wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY|"
    r"je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY|"
    r"sk_test_(?:4eC39HqLyjWDarjtT1zdp7dc|BQokikJOvBiI2HlWgH4olfQ2)|.{0,60}EXAMPLE(?:KEY|TOKEN)?"
)
_NAMES = re.compile(
    r"[A-Za-z_$][A-Za-z_]{0,60}(?:\.[A-Za-z_]{1,60}){1,8}|[-!~]?[A-Za-z_][\w.]{0,80}\(.{0,200}|[A-Za-z_]{1,"
    r"60}\[.{0,100}|"
    r"(?:~|\.{1,2})?/[A-Za-z0-9_.-]{1,60}(?:/[A-Za-z0-9_.@-]{0,80}){0,12}|"
    r"[a-z][a-z0-9+]{1,20}://[^\s]{0,400}|[A-Za-z]:\\.{0,200}|[\w.-]{1,80}\.(?:json|ya?ml|toml|"
    r"py|js|ts|tsx|md|txt|env|pem|key|crt|cfg|ini|"
    r"conf|sh|go|rs|rb|java|kt|lock|log|sql|html|css|xml|csv)(?::[0-9]{1,6})?|"
    r"[A-Z][A-Z0-9]{0,30}(?:_[A-Z0-9]{1,30}){1,8}|[a-z]{2,20}(?:_[a-z]{1,20}){1,8}|[a-z]{2,"
    r"20}(?:[A-Z][a-z]{1,20}){1,6}|"
    r"[A-Z][a-z]{1,20}(?:[A-Z][a-z]{2,20}){1,6}|--?[a-z][a-z-]{0,40}(?:=[a-z0-9.]{1,8})?|@[\w/.-]{1,60}"
)
_PUBLIC = re.compile(
    r"(?:pk_(?:live|test)_|pk\.eyJ|sb_publishable_|SHA256:|sha(?:256|384|512)[:-]|MD5:|age1|ssh-|"
    r"pub_)[\w+/=.:-]{0,200}"
)


def is_reference(value: str) -> bool:
    """Whether the value only points at the place where a secret is kept, or is our own mask."""
    variable = _VARIABLE.fullmatch(value)
    if variable and grade(variable.group(1)) < Grade.PASSWORD:
        return True
    return MASK in value or (len(value) < 400 and _REFERENCE.match(value) is not None)


def is_harmless(value: str) -> bool:
    """Whether a value after a secret word is a reference, a placeholder, a sample or a name in a program."""
    if is_reference(value) or value.lower().strip(".,;:!?()") in DUMMIES:
        return True
    if len(value) > 400:
        return False
    return bool(
        _TEMPLATE.search(value)
        or _DUMMY_SHAPE.fullmatch(value)
        or _SAMPLES.fullmatch(value)
        or _NAMES.fullmatch(value)
        or _PUBLIC.match(value)
    )


def is_sample(value: str) -> bool:
    """Whether a value of a provider's shape is a published sample or filled with one character."""
    body = value[6:]
    return (
        _SAMPLES.fullmatch(value) is not None or len(set(body.lower())) <= 3 or "xxxx" in body.lower() or "****" in body
    )
