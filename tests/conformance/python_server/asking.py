"""Tools that ask the client for something."""

import json

from call import text
from dialogue import answerable, ask, form, roots, sampling

NAME = {"name": {"type": "string"}}

TOOLS = {
    "test_sampling": ("Has the client's model answer a prompt.", {"prompt": {"type": "string"}}),
    "test_elicitation": ("Asks the user for a name and an address.", {"message": {"type": "string"}}),
    "test_elicitation_sep1034_defaults": ("Asks with a default for every kind of field.", {}),
    "test_elicitation_sep1330_enums": ("Asks with every kind of choice.", {}),
    "test_streaming_elicitation": ("Asks for a value.", {}),
    "test_missing_capability": ("Needs a client that can sample.", {}),
    "test_input_required_result_elicitation": ("Asks for a name.", {}),
    "test_input_required_result_sampling": ("Asks the client's model.", {}),
    "test_input_required_result_list_roots": ("Asks for the client's roots.", {}),
    "test_input_required_result_request_state": ("Asks, and has the client keep the state.", {}),
    "test_input_required_result_multiple_inputs": ("Asks three things at once.", {}),
    "test_input_required_result_multi_round": ("Asks twice in a row.", {}),
    "test_input_required_result_tampered_state": ("Refuses a state that was changed.", {}),
    "test_input_required_result_capabilities": ("Asks only what the client can answer.", {}),
}

DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}


def titled(word):
    return [{"const": f"value{number}", "title": f"{word} {number}"} for number in (1, 2, 3)]


OPTIONS = ["option1", "option2", "option3"]
CHOICES = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": titled("Option")},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
}


def everything():
    return {
        "user_name": form("What is your name?", NAME),
        "greeting": sampling("Greet the user"),
        "client_roots": roots(),
    }


def rounds(call):
    """What the tool asks, round by round, and whether the client keeps the state."""
    match call.name.removeprefix("test_input_required_result_"):
        case "test_sampling":
            return [{"answer": sampling(call.arguments["prompt"])}], False
        case "test_elicitation":
            fields = {"username": {"type": "string"}, "email": {"type": "string"}}
            return [{"answer": form(call.arguments["message"], fields)}], False
        case "test_elicitation_sep1034_defaults":
            return [{"answer": form("Please look through these values", DEFAULTS, required=False)}], False
        case "test_elicitation_sep1330_enums":
            return [{"answer": form("Please choose", CHOICES, required=False)}], False
        case "test_streaming_elicitation":
            return [{"value": form("Please give a value", {"value": {"type": "string"}})}], False
        case "test_missing_capability":
            return [{"greeting": sampling("Greet the user")}], False
        case "elicitation":
            return [{"user_name": form("What is your name?", NAME)}], False
        case "sampling":
            return [{"capital_question": sampling("What is the capital of France?")}], False
        case "list_roots":
            return [{"client_roots": roots()}], False
        case "request_state" | "tampered_state":
            return [{"confirm": form("Please confirm", {"ok": {"type": "boolean"}})}], True
        case "multiple_inputs":
            return [everything()], True
        case "multi_round":
            colour = form("What is your favourite colour?", {"color": {"type": "string"}})
            return [{"step1": form("What is your name?", NAME)}, {"step2": colour}], True
        case "capabilities":
            return [{key: it for key, it in everything().items() if answerable(call, it)}], False
    return None, False


async def answer(call):
    questions, sealed = rounds(call)
    if questions is None:
        return None
    answers, asked = await ask(call, *questions, sealed=sealed)
    if asked:
        return asked
    if call.name == "test_input_required_result_elicitation":
        return text(f"Hello, {answers['user_name']['content']['name']}!")
    # In one order, whatever way the answers came.
    return text(f"state-ok {json.dumps(answers, sort_keys=True)}")
