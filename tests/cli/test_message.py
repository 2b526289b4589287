"""`message send`: one message to one person, claimed, paced and recorded like all others."""

import json
from pathlib import Path
from typing import Any

from tests.cli.processes import Drumbeat, Service

ANA = "+5511980000001"
TO_ANA = ("message", "send", "--to", ANA, "--number", "1")
ORDER = ("--template", "order_shipped", "--language", "en_US", "--param", "Ana", "--param", "A-1")


def write_in(service: Service) -> str:
    """Ana writes in, which opens the window of 24 hours."""
    return str(service.post("incoming", {"from": ANA[1:], "phone_number_id": "1"})["id"])


def test_a_template_is_sent_once_under_a_name(drumbeat: Drumbeat, synced: Service) -> None:
    words = (*TO_ANA, *ORDER, "--name", "to-ana", "--json")
    sent = drumbeat.ok(*words).json
    assert (sent["name"], sent["phone"], sent["state"]) == ("to-ana", ANA[1:], "accepted")
    assert synced.ledger()[0]["wamid"] == sent["wamid"]
    assert drumbeat.ok(*words).json == sent
    assert synced.accepted() == 1
    assert drumbeat(*TO_ANA, *ORDER[:-1], "A-2", "--name", "to-ana").exit_code == 78
    report = drumbeat.ok("campaign", "report", "to-ana", "--json").json
    assert (report["recipients"], report["template"], report["counts_add_up"]) == (1, "order_shipped", True)


def test_without_a_name_each_command_sends_a_message(drumbeat: Drumbeat, synced: Service) -> None:
    names = {drumbeat.ok(*TO_ANA, *ORDER, "--json").json["name"] for _ in range(2)}
    assert len(names) == 2
    assert synced.accepted() == 2
    assert {each["name"] for each in drumbeat.ok("campaign", "list", "--json").json["campaigns"]} == names


def test_a_text_answers_a_message(drumbeat: Drumbeat, synced: Service) -> None:
    wamid = write_in(synced)
    done = drumbeat.ok(*TO_ANA, "--text", 'Olá "Ana" 👍', "--reply-to", wamid, "--name", "answer")
    assert done.stdout.startswith("accepted  wamid.")
    message = synced.ledger()[0]
    assert (message["type"], message["content"]["body"]) == ("text", 'Olá "Ana" 👍')
    assert message["tag"], "so that its statuses settle it if the reply is lost"
    assert "Free-form message of type text" in drumbeat.ok("campaign", "report", "answer").stdout


LINK = "https://files.example/a.jpg"
OTHERS: list[dict[str, Any]] = [
    {"type": "image", "image": {"link": LINK, "caption": "A lamp"}},
    {"type": "location", "location": {"latitude": 1.5, "longitude": 2.5}},
    {"type": "contacts", "contacts": [{"name": {"formatted_name": "Rui"}}]},
    {"type": "reaction", "reaction": {"message_id": "wamid.x", "emoji": "👍"}},
]


def test_every_other_type_comes_from_a_file(drumbeat: Drumbeat, synced: Service, tmp_path: Path) -> None:
    write_in(synced)
    for message in OTHERS:
        (tmp_path / "m.json").write_text(json.dumps(message))
        drumbeat.ok(*TO_ANA, "--file", "m.json")
        sent = synced.ledger()[-1]
        assert (sent["type"], sent["content"]) == (message["type"], message[message["type"]])


def test_a_refusal_is_recorded_and_ends_with_3(drumbeat: Drumbeat, synced: Service) -> None:
    done = drumbeat(*TO_ANA, "--text", "Hello", "--name", "late", "--json")
    assert done.exit_code == 3
    assert (done.json["state"], done.json["code"]) == ("failed", 131047)
    assert "24-hour window" in done.complaint
    assert drumbeat(*TO_ANA, "--text", "Hello", "--name", "late").exit_code == 3
    assert synced.get("ledger/summary")["numbers"]["1"]["errors"] == {"131047": 1}, "asked once only"


def test_a_refused_token_pauses_the_message_and_ends_with_77(drumbeat: Drumbeat, synced: Service) -> None:
    words = (*TO_ANA, *ORDER, "--name", "later")
    assert drumbeat(*words, access_token="old").exit_code == 77
    drumbeat.ok("campaign", "resume", "later")
    drumbeat.ok(*words)
    assert synced.accepted() == 1


def test_a_suppressed_person_gets_nothing(drumbeat: Drumbeat, synced: Service) -> None:
    drumbeat.ok("suppress", "add", ANA)
    done = drumbeat(*TO_ANA, *ORDER, "--json")
    assert (done.exit_code, done.json["state"]) == (3, "skipped")
    assert synced.accepted() == 0


REFUSALS: list[tuple[tuple[str, ...], int, str]] = [
    ((), 2, "--template, --text and --file"),
    (("--text", "a", *ORDER), 2, "--template, --text and --file"),
    (("--template", "order_shipped"), 2, "needs --language"),
    ((*ORDER, "--reply-to", "wamid.1"), 2, "no --reply-to"),
    (("--text", ""), 2, "1 to 4096"),
    (("--text", "a", "--file", "m.json"), 2, "one message is needed"),
    (("--file", "nothing.json"), 78, "cannot be read"),
    (("--file", "m.json"), 2, "needs a type"),
    (ORDER[:-2], 2, "2 placeholders"),
    (("--text", "a", "--to", "12"), 2, "too few digits"),
    (("--text", "a", "--number", "9"), 78, "unknown phone number ID 9"),
]


def test_what_cannot_be_sent_is_refused_and_nothing_is_recorded(
    drumbeat: Drumbeat, synced: Service, tmp_path: Path
) -> None:
    (tmp_path / "m.json").write_text('{"type": "template", "template": {"name": "order_shipped"}}')
    for words, exit_code, part in REFUSALS:
        done = drumbeat(*TO_ANA, *words)
        assert (done.exit_code, done.stdout) == (exit_code, ""), words
        assert part in done.complaint
    assert drumbeat.ok("campaign", "list", "--json").json["campaigns"] == []
    assert synced.accepted() == 0
