"""A request for a tool or a prompt, with what its handler needs to know about who asks."""

from dataclasses import dataclass
from typing import Any

STATELESS = "2026-07-28"


@dataclass
class Call:
    context: Any
    name: str
    arguments: dict

    @property
    def stateless(self):
        return self.context.protocol_version >= STATELESS

    @property
    def answers(self):
        """As they came: what is no map answers nothing."""
        given = (self.context.params or {}).get("inputResponses")
        return given if isinstance(given, dict) else {}

    @property
    def state(self):
        return (self.context.params or {}).get("requestState")

    @property
    def capabilities(self):
        declared = self.context.session.client_capabilities
        return declared.model_dump(by_alias=True, exclude_none=True) if declared else {}


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def era_wise(handler):
    """In the stateless era every result says what kind it is."""

    async def handle(context, params):
        result = await handler(context, params)
        return {"resultType": "complete", **result} if context.protocol_version >= STATELESS else result

    return handle
