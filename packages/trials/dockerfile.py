"""What the `Dockerfile` says about a container: its user, variables and commands."""

import dataclasses
import json
import re

from . import place


@dataclasses.dataclass(frozen=True)
class Container:
    user: str
    environment: dict
    folder: str
    command: list
    health: list


def container(stage):
    """The settings of a stage. No stage here has those of another one."""
    text = (place.ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = re.search(rf"^FROM \S+ AS {stage}\n((?:(?!FROM ).*\n?)*)", text, re.MULTILINE)[1].splitlines()
    said = lambda word: [line.removeprefix(word).strip() for line in lines if line.startswith(f"{word} ")]
    # The words of what is written as a list.
    words = lambda word: json.loads(re.search(r"\[.*\]", said(word)[-1])[0])
    pairs = (pair.split("=", 1) for line in said("ENV") for pair in line.split())
    return Container(
        user=said("USER")[-1],
        environment=dict(pairs),
        folder=said("WORKDIR")[-1],
        command=[*words("ENTRYPOINT"), *words("CMD")],
        health=words("HEALTHCHECK"),
    )
