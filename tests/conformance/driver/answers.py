"""What the user, the model and the file system of this client say when a server asks."""

CAPABILITIES = {"elicitation": {}, "sampling": {}, "roots": {}}
PLACEHOLDERS = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": []}


def to(question):
    match question["method"]:
        case "elicitation/create":
            properties = question["params"]["requestedSchema"]["properties"]
            return {"action": "accept", "content": {name: filled(field) for name, field in properties.items()}}
        case "sampling/createMessage":
            said = {"type": "text", "text": "So be it."}
            return {"role": "assistant", "content": said, "model": "none", "stopReason": "endTurn"}
        case "roots/list":
            return {"roots": [{"uri": "file:///tmp", "name": "tmp"}]}
    return {}


def filled(field):
    return field["default"] if "default" in field else PLACEHOLDERS[field["type"]]
