"""Secret-shaped strings, composed at run time from a seed: none of them may stand in a file of this repository."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Iterator
from dataclasses import dataclass

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
WORDS = ["maple", "cedar", "quartz", "willow", "indigo", "saffron", "heron", "copper", "lantern", "umber"]


@dataclass(frozen=True)
class Sample:
    kind: str
    text: str
    secrets: tuple[str, ...]
    keep: tuple[str, ...] = ()


def letters(rng: random.Random, alphabet: str, count: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(count))


def uuid(rng: random.Random) -> str:
    return "-".join(letters(rng, HEX, count) for count in (8, 4, 4, 4, 12))


def password(rng: random.Random) -> str:
    word = rng.choice(WORDS)
    return rng.choice(
        [
            f"{word.capitalize()}{rng.randint(10, 999)}{rng.choice('!$%&')}",
            f"{word.replace('a', '@').capitalize()}{rng.randint(1000, 9999)}%",
            f"{'-'.join(rng.sample(WORDS, 3))}-{rng.randint(10, 99)}",
            f"{letters(rng, ALNUM, 12)}7{letters(rng, string.ascii_uppercase, 2)}{letters(rng, ALNUM, 4)}",
        ]
    )


def tokens(rng: random.Random) -> dict[str, str]:
    """One credential per provider; the prefixes are cut in two so that no scanner takes this file for a leak."""
    return {
        "GITHUB_TOKEN": "gh" + "p_" + letters(rng, ALNUM, 36),
        "GITLAB_PAT": "gl" + "pat-" + letters(rng, ALNUM + "_", 20),
        "AWS_ACCESS_KEY_ID": "AK" + "IA" + letters(rng, string.ascii_uppercase + "234567", 16),
        "STRIPE_KEY": "sk_" + "live_" + letters(rng, ALNUM, 24),
        "SLACK_TOKEN": "xo" + "xb-" + letters(rng, string.digits, 12) + "-" + letters(rng, ALNUM, 24),
        "NPM_TOKEN": "np" + "m_" + letters(rng, ALNUM, 36),
        "OPENAI_API_KEY": "sk-" + "proj-" + letters(rng, ALNUM + "_-", 60),
        "ANTHROPIC_KEY": "sk-" + "ant-api03-" + letters(rng, ALNUM + "_-", 80),
        "GOOGLE_API_KEY": "AI" + "za" + letters(rng, ALNUM + "_-", 35),
        "SENDGRID_API_KEY": "S" + "G." + letters(rng, ALNUM, 22) + "." + letters(rng, ALNUM, 43),
        "HF_TOKEN": "h" + "f_" + letters(rng, string.ascii_letters, 34),
        "LINEAR_API_KEY": "lin_" + "api_" + letters(rng, ALNUM, 40),
        "DO_TOKEN": "do" + "p_v1_" + letters(rng, HEX, 64),
        "TFE_TOKEN": letters(rng, ALNUM, 14) + ".atlas" + "v1." + letters(rng, ALNUM, 67),
        "SNYK_TOKEN": uuid(rng),
        "DD_API_KEY": letters(rng, HEX, 32),
        "ACME_SECRET": letters(rng, ALNUM, 48),
        "AZURE_STORAGE_KEY": letters(rng, ALNUM + "+/", 86) + "==",
    }


def token_samples(rng: random.Random) -> Iterator[Sample]:
    for name, value in tokens(rng).items():
        yield Sample("token", f"# .env\n{name}={value}\nDEBUG=0", (value,), (name, "DEBUG=0"))
        yield Sample("token", f"I used {value} for {name}, the call then succeeded.", (value,), ("then succeeded",))
        yield Sample(
            "token", f'curl -H "Authorization: Bearer {value}" https://svc.example.org/health', (value,), ("/health",)
        )
        yield Sample("token", f"{name.lower()}: {value}\nreplicas: 2", (value,), ("replicas: 2",))
        yield Sample("token", f"os.environ['{name}'] = '{value}'", (value,), (name,))
        yield Sample("token", f'{{"{name}": "{value}", "region": "eu"}}', (value,), ("region",))


PROSE = (
    "The password is {}, ask Ana before rotating.",
    "root@10.1.1.4 pw: {}",
    "Login: svc Password: {}",
    "das Kennwort ist {}",
    "clave: {} (solo pruebas)",
    "mot de passe : {}",
    "пароль {} для стенда",
    "密码：{}",
    "パスワードは {} です",
    "비밀번호: {}",
    "كلمة المرور: {}",
    "the passphrase was set to {} yesterday",
    "creds admin/{}",
    "Use {} as the password for the staging box.",
    "hasło do bazy to {}",
    "a senha é {}",
)
COMMANDS = (
    "curl --user 'ci:{}' https://nexus.example.net/service/rest",
    "docker login -u robot -p {} registry.example.com",
    "wget --user=ro --password={} https://mirror.example.com/a.iso",
    "PGPASSWORD={} psql -h pg1 -U app",
    "mysql -u root -p{} shop",
    "sshpass -p {} ssh ops@host",
    "redis-cli -h cache -a {} ping",
    "echo 'bob:{}' | chpasswd",
    "kubectl create secret generic db --from-literal=password={}",
    "ALTER USER app WITH PASSWORD '{}';",
)
FILES = (
    ".pgpass has\n*:5432:*:postgres:{}\nmode 0600",
    "define( 'DB_PASSWORD', '{}' );",
    'network={{\n ssid="lab"\n psk="{}"\n}}',
    "machine api.example.org login bob password {}",
    "<password>{}</password>",
    "Server=db;User Id=sa;Password={};",
    "db:\n  user: app\n  pass: {}",
)
SCHEMES = ("postgres", "mysql", "redis", "amqp", "mongodb+srv", "ftp")


def password_samples(rng: random.Random) -> Iterator[Sample]:
    for kind, shapes in (("prose", PROSE), ("command", COMMANDS), ("file", FILES)):
        for shape in shapes:
            value = password(rng)
            while kind == "command" and not value.replace("-", "").isalnum():
                value = password(rng)
            yield Sample(kind, shape.format(value), (value,))
    for scheme in SCHEMES:
        for value in (
            password(rng),
            f"{letters(rng, ALNUM, 6)}@7{letters(rng, ALNUM, 4)}",
            "Fj%2F" + letters(rng, ALNUM, 8),
        ):
            text = f"DATABASE_URL={scheme}://quartz:{value}@willow-db.internal.example.com:5432/fjord"
            yield Sample("url", text, (value,), ("willow-db.internal.example.com",))


def key_samples(rng: random.Random) -> Iterator[Sample]:
    lines = tuple(letters(rng, ALNUM + "+/", 64) for _ in range(6))
    head, foot = "-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----"
    for joint in ("\n", "\\n", "\n> ", "\n    "):
        yield Sample(
            "key", f"keys:{joint}" + joint.join((head, *lines, foot)) + "\nend of keys", lines, ("end of keys",)
        )
    yield Sample("key", "\n".join(("cut off:", head, *lines)), lines)


def disguised(rng: random.Random) -> Iterator[Sample]:
    look_alikes = str.maketrans("aeopcxAEOPCTBMHK", "аеорсхАЕОРСТВМНК")
    for value in list(tokens(rng).values())[:6]:
        half = len(value) // 2
        hidden = "".join(c + rng.choice(["", "", "\u200b", "\u2060"]) for c in value)
        yield Sample("zero-width", f"note for later: {hidden} ok", (hidden,), ("note for later",))
        yield Sample("look-alike", f"api_key: {value.translate(look_alikes)}", (value.translate(look_alikes),))
        blob = base64.b64encode(value.encode()).decode()
        yield Sample("base64", f"echo {blob} | base64 -d > token", (blob,), ("> token",))
        yield Sample("bold", f"**{value[:half]}**{value[half:]} is the one", (value[half:],), ("is the one",))
        yield Sample("joined", f'token = "{value[:half]}" + "{value[half:]}"', (value[:half], value[half:]))
        yield Sample("percent", "x=" + "".join(f"%{ord(c):02x}" for c in value), ("%" + value.encode().hex("%"),))


def samples(seed: int = 7) -> list[Sample]:
    rng = random.Random(seed)
    return [*token_samples(rng), *password_samples(rng), *key_samples(rng), *disguised(rng)]
