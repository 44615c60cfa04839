"""What is asked of a server, in this order. Each step is a name, a method and its params."""


def call(name, **arguments):
    return ("tools/call", {"name": name, "arguments": arguments})


def complete(reference, argument, value):
    return ("completion/complete", {"ref": reference, "argument": {"name": argument, "value": value}})


def prompt(name):
    return {"type": "ref/prompt", "name": name}


def template(uri):
    return {"type": "ref/resource", "uri": uri}


LISTS = {
    "list tools": ("tools/list", {}),
    "list resources": ("resources/list", {}),
    "list templates": ("resources/templates/list", {}),
    "list prompts": ("prompts/list", {}),
}

ERRORS = {
    "unknown tool": call("no_such_tool"),
    "unknown resource": ("resources/read", {"uri": "memo://no/such/resource"}),
    "unknown prompt": ("prompts/get", {"name": "no_such_prompt"}),
    "unknown method": ("no/such_method", {}),
}

# The servers of `servers/` all have these items.
COMMON = {
    **LISTS,
    "call": call("add", a=2, b=3),
    "wrong arguments": call("add", a="two"),
    "failing call": call("fail", reason="no luck"),
    "progress": call("report"),
    "log messages": call("tell"),
    "form": call("ask_form"),
    "sampling": call("ask_model"),
    "roots": call("ask_folders"),
    "read": ("resources/read", {"uri": "memo://greeting"}),
    "read by template": ("resources/read", {"uri": "memo://notes/one"}),
    "prompt": ("prompts/get", {"name": "greet", "arguments": {"who": "ann"}}),
    "completion of a prompt": complete(prompt("greet"), "who", "an"),
    "completion of a template": complete(template("memo://notes/{name}"), "name", "b"),
    **ERRORS,
}

# The reference server of the conformance runs, on rmcp.
RMCP = {
    **LISTS,
    "call": call("test_simple_text"),
    "mixed content": call("test_multiple_content_types"),
    "failing call": call("test_error_handling"),
    "progress": call("test_tool_with_progress"),
    "log messages": call("test_tool_with_logging"),
    "form": call("test_elicitation", message="Which colour?"),
    "form with defaults": call("test_elicitation_sep1034_defaults"),
    "sampling": call("test_sampling", prompt="Say a word."),
    "read": ("resources/read", {"uri": "test://static-text"}),
    "read binary": ("resources/read", {"uri": "test://static-binary"}),
    "read by template": ("resources/read", {"uri": "test://template/123/data"}),
    "prompt": ("prompts/get", {"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}),
    "completion of a prompt": complete(prompt("test_prompt_with_arguments"), "arg1", "te"),
    "completion of a template": complete(template("test://template/{id}/data"), "id", "1"),
    **ERRORS,
}


def of(steps, era, client):
    """Runs the steps and returns a record for each."""
    records = {"handshake": client.begin()}
    if era == "session":
        records["log level"] = client.ask("logging/setLevel", {"level": "debug"})
    for name, (method, params) in steps.items():
        records[name] = client.ask(method, params)
    return records
