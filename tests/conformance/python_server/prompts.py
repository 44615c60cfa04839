"""The prompts, one of which asks before it answers."""

from mcp.shared.exceptions import MCPError

import streaming
from call import Call
from content import image, resource
from dialogue import ask, form

PROMPTS = {
    "test_simple_prompt": ("One sentence.", []),
    "test_prompt_with_arguments": ("A sentence with two gaps.", ["arg1", "arg2"]),
    "test_prompt_with_embedded_resource": ("A resource and a sentence.", ["resourceUri"]),
    "test_prompt_with_image": ("A picture and a sentence.", []),
    "test_input_required_result_prompt": ("Asks what it is about.", []),
}
INVALID_PARAMS = -32602


async def list_all(context, params):
    prompts = dict(PROMPTS)
    if streaming.passing["prompt"]:
        prompts["test_passing_prompt"] = ("Is not always there.", [])
    return {"prompts": [described(name, *prompt) for name, prompt in prompts.items()]}


def described(name, description, arguments):
    prompt = {"name": name, "description": description}
    if arguments:
        prompt["arguments"] = [{"name": argument, "required": True} for argument in arguments]
    return prompt


def user(part):
    return {"role": "user", "content": {"type": "text", "text": part} if isinstance(part, str) else part}


async def get(context, params):
    arguments = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            parts = ["This is a simple prompt for testing."]
        case "test_prompt_with_arguments":
            parts = [f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"]
        case "test_prompt_with_embedded_resource":
            part = resource(arguments["resourceUri"], "text/plain", "Embedded resource content for testing.")
            parts = [part, "Please process the embedded resource above."]
        case "test_prompt_with_image":
            parts = [image(), "Please analyze the image above."]
        case "test_passing_prompt":
            parts = ["I am here."]
        case "test_input_required_result_prompt":
            question = form("What is it about?", {"context": {"type": "string"}})
            answers, asked = await ask(Call(context, params.name, arguments), {"user_context": question})
            if asked:
                return asked
            parts = [f"It is about {answers['user_context']['content']['context']}."]
        case _:
            raise MCPError(INVALID_PARAMS, f"there is no prompt `{params.name}`")
    return {"messages": [user(part) for part in parts]}
