"""Asking the client in the middle of a call: with requests of the server's own in a session, with `input_required`
results where there is none. A tool says what it asks in which rounds and need not know the era.
"""

import json
import secrets

import mcp_types as types
from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
MISSING_CAPABILITY = -32021

KINDS = {
    "elicitation/create": ("elicitation", types.ElicitRequest, types.ElicitResult),
    "sampling/createMessage": ("sampling", types.CreateMessageRequest, types.CreateMessageResult),
    "roots/list": ("roots", types.ListRootsRequest, types.ListRootsResult),
}

codec = AESGCMRequestStateCodec([secrets.token_bytes(32)])


def form(message, properties, required=True):
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(properties)
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def sampling(prompt):
    message = {"role": "user", "content": {"type": "text", "text": prompt}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}}


def roots():
    return {"method": "roots/list"}


def answerable(call, question):
    return KINDS[question["method"]][0] in call.capabilities


async def ask(call, *rounds, sealed=False):
    """The answers by key, or None and the result that asks for them."""
    for question in (question for questions in rounds for question in questions.values()):
        if not answerable(call, question):
            raise unanswerable(call, question)
    return next_round(call, rounds, sealed) if call.stateless else (await ask_in_session(call, rounds), None)


def next_round(call, rounds, sealed):
    asked, answers = unseal(call.state) if sealed and call.state else (0 if sealed else 1, {})
    if asked:
        expected = rounds[asked - 1]
        given = {key: call.answers[key] for key in expected if isinstance(call.answers.get(key), dict)}
        if len(given) == len(expected):
            answers.update(given)
        else:
            asked -= 1
    if asked == len(rounds):
        return answers, None
    result = {"resultType": "input_required", "inputRequests": rounds[asked]}
    if sealed:
        result["requestState"] = codec.seal(json.dumps([asked + 1, answers]).encode())
    return None, result


def unseal(state):
    try:
        return json.loads(codec.unseal(state))
    except InvalidRequestState:
        raise MCPError(INVALID_PARAMS, "requestState is not what this server gave out") from None


async def ask_in_session(call, rounds):
    answers = {}
    for key, question in (item for questions in rounds for item in questions.items()):
        _, request, result = KINDS[question["method"]]
        related = ServerMessageMetadata(related_request_id=call.context.request_id)
        answer = await call.context.session.send_request(request.model_validate(question), result, metadata=related)
        answers[key] = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
    return answers


def unanswerable(call, question):
    needed = {KINDS[question["method"]][0]: {}}
    if call.stateless:
        return MCPError(MISSING_CAPABILITY, "the client lacks a capability", {"requiredCapabilities": needed})
    return MCPError(INVALID_REQUEST, "the client has not declared the capability for this", needed)
