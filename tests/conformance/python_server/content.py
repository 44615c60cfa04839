"""Tools that answer with each kind of content, and those whose schemas matter more than what they do."""

from call import text

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="

MANY_KEYWORDS = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

TOOLS = {
    "test_simple_text": ("Answers with a sentence.", {}),
    "test_image_content": ("Answers with a picture.", {}),
    "test_audio_content": ("Answers with a sound.", {}),
    "test_embedded_resource": ("Answers with a resource.", {}),
    "test_multiple_content_types": ("Answers with a sentence, a picture and a resource.", {}),
    "test_error_handling": ("Fails, and says so in its result.", {}),
    "test_custom_header": (
        "Answers with a value that a header must repeat.",
        {"value": {"type": "string", "x-mcp-header": "Value"}},
    ),
    "json_schema_2020_12_tool": ("Has a schema of many keywords.", MANY_KEYWORDS),
}


def image():
    return {"type": "image", "data": PNG, "mimeType": "image/png"}


def resource(uri, kind, words):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": words}}


async def answer(call):
    match call.name:
        case "test_simple_text":
            return text("This is a simple text response for testing.")
        case "test_image_content":
            return {"content": [image()]}
        case "test_audio_content":
            return {"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]}
        case "test_embedded_resource":
            part = resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
            return {"content": [part]}
        case "test_multiple_content_types":
            words = {"type": "text", "text": "Multiple content types test:"}
            part = resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
            return {"content": [words, image(), part]}
        case "test_error_handling":
            return {**text("This tool intentionally returns an error for testing"), "isError": True}
        case "test_custom_header":
            return text(call.arguments["value"])
        case "json_schema_2020_12_tool":
            return text("Done.")
    return None
