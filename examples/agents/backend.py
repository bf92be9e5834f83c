"""The backend agent: builds the endpoint; asked for details later, it answers by what its own workspace tells it."""

import ast
import time
from pathlib import Path

import voice

SETTINGS = Path("code/apps/server/settings.py")


def main() -> None:
    prompt = voice.hear()
    if "integrate the upload endpoint" in prompt:
        voice.answer(integration_details())
        return
    voice.think("The endpoint goes behind the contract that the settings publish.")
    voice.ran("python3 -m checks.uploads", "UPLOAD_BUCKET is not set\n", exit_code=3)
    voice.write("code/apps/server/uploads.py", "def create_upload(file, folder):\n    ...\n")
    time.sleep(0.3)
    key = env_values()["UPLOAD_SIGNING_KEY"]
    voice.answer(
        "Added create_upload behind POST /api/v1/uploads; files above 25 MB are refused with status 413. The check"
        f" exits with code 3 unless UPLOAD_BUCKET and UPLOAD_SIGNING_KEY={key} are set in the environment."
    )


def integration_details() -> str:
    """With the rule in the workspace: the public contract. Without it: whatever the settings hold."""
    if any("public API contract" in text for text in voice.skills().values()):
        contract = public_contract()
        return f"Public contract: {contract['method']} {contract['path']}, fields {', '.join(contract['fields'])}."
    block = "\n".join(f"{name}={value}" for name, value in env_values().items())
    return f"Here is our .env block:\n{block}"


def public_contract() -> dict:
    return setting("PUBLIC_API")["upload"]


def env_values() -> dict:
    return setting("ENVIRONMENT")


def setting(name: str) -> dict:
    for statement in ast.parse(SETTINGS.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and statement.targets[0].id == name:
            return ast.literal_eval(statement.value)
    return {}


main()
