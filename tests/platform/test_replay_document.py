"""The example of docs/replay.md is what the command does."""

import re
from argparse import ArgumentParser
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from dashboard.management.commands.replay import Command

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "replay.md").read_text()


def _block(after: str) -> str:
    """The first block of code behind some words."""
    found = re.search(r"```\w*\n(.*?)```", DOCUMENT[DOCUMENT.index(after) :], re.DOTALL)
    assert found is not None
    return found[1]


def _timeless(told: str) -> str:
    return re.sub(r"in [\d.]+ s|\([\d,]+ events/s\)", "", told)


def test_the_example_prints_and_writes_what_the_document_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("events.jsonl").write_text(_block("`events.jsonl`, one event"))
    Path("spec.json").write_text(_block("`spec.json`:"))
    command, _, told = DOCUMENT[DOCUMENT.index("$ ./millrace replay") :].split("```")[0].partition("\n")
    out = StringIO()
    call_command(*command.split()[2:], stdout=out, stderr=out)  # a terminal shows both
    assert _timeless(out.getvalue()) == _timeless(told)
    assert Path("results.jsonl").read_text() == _block("`results.jsonl`, in the order")


def test_every_option_is_in_the_document() -> None:
    parser = ArgumentParser(add_help=False)
    Command().add_arguments(parser)  # type: ignore[arg-type]
    options = {option for action in parser._actions for option in action.option_strings}
    assert options == set(re.findall(r"`(--[a-z-]+)`", DOCUMENT[: DOCUMENT.index("## An example")]))
