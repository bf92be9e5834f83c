"""The frontend agent: builds the form, and says what its own workspace holds."""

import time

import voice

prompt = voice.hear()
if "integrate the upload endpoint" in prompt:
    held = ", ".join(sorted(voice.skills())) or "none"
    voice.answer(f"I build the form and wait for the contract. Skills in my workspace: {held}.")
else:
    voice.think("Two fields, one button.")
    voice.write("code/apps/web/upload.html", "<form><input name=file><input name=folder></form>\n")
    time.sleep(0.9)
    voice.answer("The upload form posts the fields file and folder. Large files show the message that comes with 413.")
