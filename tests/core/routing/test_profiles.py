"""Profiles tell agents apart: what teammates share is dropped."""

from tikitaka.routing.features import measure
from tikitaka.routing.profiles import AgentProfile, NoteText, distinct_profiles, texts_to_embed

HOUSE = "Be concise. Never invent results."


def agent(key, description, instructions=""):
    return AgentProfile(key=key, name=f"{key.title()} Agent", description=description, instructions=instructions)


TEAM = (
    agent("web", "Builds the page.", f"{HOUSE} Forms, colors and layout."),
    agent("api", "Builds the server.", f"{HOUSE} Queries; migrations."),
    agent("ops", "Runs the machines.", "be   concise. Alerts."),
)
NOTE = NoteText(content="Forms keep their input.", description="Building forms")


def test_a_sentence_that_two_agents_carry_is_dropped_whatever_its_case_and_blanks():
    for profile in distinct_profiles(TEAM):
        assert "concise" not in profile.text.lower()
        assert "invent" not in profile.text
        assert not any("concise" in clause.lower() for clause in profile.clauses)


def test_what_one_agent_alone_carries_stays_as_text_and_as_clauses_under_its_name():
    web = distinct_profiles(TEAM)[0]

    assert web.text == "Web Agent. Builds the page. Forms, colors and layout."
    assert web.clauses == (
        "Web Agent: Builds the page",
        "Web Agent: Forms",
        "Web Agent: colors",
        "Web Agent: layout",
    )
    assert "form" in web.stems


def test_an_agent_with_nothing_of_its_own_is_known_by_its_name():
    same = (agent("one", "Helps."), agent("two", "Helps."))

    assert [profile.clauses for profile in distinct_profiles(same)] == [("One Agent",), ("Two Agent",)]


def test_one_batch_holds_every_vector_that_recognition_looks_up():
    class Watched(dict):
        asked = set()

        def get(self, text, default=None):
            self.asked.add(text)
            return super().get(text, default)

    vectors = Watched({text: (1.0, float(i)) for i, text in enumerate(texts_to_embed(TEAM, NOTE))})
    measure(distinct_profiles(TEAM), NOTE, vectors)

    assert vectors.asked == set(vectors)
    assert len(texts_to_embed(TEAM, NOTE)) == len(set(texts_to_embed(TEAM, NOTE)))


def test_the_plain_cosine_asks_for_whole_profiles():
    assert texts_to_embed(TEAM, NOTE, score="cosine") == (NOTE.whole, *(item.whole for item in TEAM))


def test_a_note_without_description_stands_for_its_own_occasion():
    assert NoteText(content="Forms", description=" ").occasion == "Forms"
