"""Whether the proxy keeps what the server says: the suite looks at little of it, so it is asked for again, whole."""

from .compare import first_difference, plain
from .http_client import HttpClient

LISTS = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]
# Tools that ask nothing and change nothing, with their arguments.
TOOLS = {
    "test_simple_text": {},
    "test_image_content": {},
    "test_audio_content": {},
    "test_embedded_resource": {},
    "test_multiple_content_types": {},
    "test_error_handling": {},
    "test_custom_header": {"value": "Grüße"},
    "greet": {"name": "Zoë"},
}
URIS = ["test://static-text", "test://static-binary", "test://template/456/data"]
PROMPTS = {
    "test_simple_prompt": {},
    "test_prompt_with_arguments": {"arg1": "eins", "arg2": "zwei"},
    "test_prompt_with_embedded_resource": {"resourceUri": "test://static-text"},
    "test_prompt_with_image": {},
}
HEADERS = {"test_custom_header": {"Mcp-Param-Value": "=?base64?R3LDvMOfZQ==?="}}
# How long a list stays good is for the proxy to say: it may change with the script.
OF_THE_PROXY = {"ttlMs", "cacheScope"}


def differences(server, proxy, revision):
    """What differs between the two addresses, as sentences."""
    direct, behind = HttpClient(server, revision), HttpClient(proxy, revision)
    found = []
    for subject, method, headers, params in questions():
        answers = [client.request(method, headers, **params) for client in (direct, behind)]
        if difference := first_difference(*(comparable(answer) for answer in answers)):
            found.append(f"{subject}: {difference[0]} became {difference[1]}")
    return found


def questions():
    for method in LISTS:
        yield method, method, {}, {}
    for name, arguments in TOOLS.items():
        yield name, "tools/call", HEADERS.get(name, {}), {"name": name, "arguments": arguments}
    for uri in URIS:
        yield uri, "resources/read", {}, {"uri": uri}
    for name, arguments in PROMPTS.items():
        yield name, "prompts/get", {}, {"name": name, "arguments": arguments}
    reference = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    yield "completion", "completion/complete", {}, {"ref": reference, "argument": {"name": "arg1", "value": "test"}}


def comparable(answer):
    answer = plain({key: value for key, value in answer.items() if key in ("result", "error")})
    answer["result"] = {key: value for key, value in answer.get("result", {}).items() if key not in OF_THE_PROXY}
    return answer
