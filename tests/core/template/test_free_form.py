"""A free-form message of a campaign: the same bytes for every recipient, but for phone and tag."""

import json

import pytest

from drumbeat.engine.core.message_types import Text, send_request
from drumbeat.engine.core.template.free_form import compile_message

HELLO = {"type": "text", "text": Text('Olá "Ana" \\ 👍').content()}


@pytest.mark.parametrize("tag", [None, "4jk2.1.0.1.7"])
def test_the_request_is_that_of_the_client(tag: str | None) -> None:
    payload = compile_message(HELLO, "chat").payload(14155550101, (), tag)
    assert payload.isascii()
    assert json.loads(payload) == send_request("chat", "14155550101", Text('Olá "Ana" \\ 👍'), tag=tag)


def test_it_answers_a_message_and_takes_no_variables() -> None:
    compiled = compile_message({**HELLO, "context": {"message_id": "wamid.1"}}, "talk")
    assert json.loads(compiled.payload(1, (), None))["context"] == {"message_id": "wamid.1"}
    assert json.loads(compiled.payload(1, (), None))["messaging_product"] == "talk"
    assert compiled.placeholders == ()
    with pytest.raises(ValueError, match="0 variables"):
        compiled.payload(1, ("Ana",), None)


def test_a_message_without_a_type_cannot_be_read() -> None:
    with pytest.raises(KeyError):
        compile_message({"text": {}}, "chat")
