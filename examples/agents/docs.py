"""The docs agent: writes the reference page from what the others did."""

import voice

prompt = voice.hear()
voice.write("code/docs/uploads.md", "# Uploads\n\nPOST /api/v1/uploads\n")
voice.answer(
    "Wrote the reference page for uploads. The API reference is generated from PUBLIC_API; never edit it by hand."
)
