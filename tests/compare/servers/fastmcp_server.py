"""A server on FastMCP, version 3 or 4, with one item for everything that the comparison looks at."""

import warnings

from fastmcp import Context, FastMCP

# Sampling, roots and logging are on their way out of the protocol, not out of this comparison.
warnings.simplefilter("ignore")

server = FastMCP("compared", instructions="Everything that the comparison looks at.", version="1.0.0")


@server.tool(title="Add")
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool
def fail(reason: str) -> str:
    """Fails."""
    raise ValueError(reason)


@server.tool
async def report(ctx: Context) -> str:
    """Reports progress."""
    for step in (1, 2, 3):
        await ctx.report_progress(step, 3, f"step {step}")
    return "reported"


@server.tool
async def tell(ctx: Context) -> str:
    """Writes log messages."""
    await ctx.debug("details")
    await ctx.info("begun")
    await ctx.warning("careful")
    return "told"


@server.tool
async def ask_form(ctx: Context) -> str:
    """Asks for a colour."""
    answer = await ctx.elicit("Which colour?", str)
    return f"{answer.action} {answer.data}"


@server.tool
async def ask_model(ctx: Context) -> str:
    """Asks the client's model."""
    if hasattr(ctx, "sample"):
        return (await ctx.sample("Say a word.", max_tokens=8)).text
    import mcp_types as types

    question = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Say a word."))
    answer = await ctx.session.create_message([question], max_tokens=8, related_request_id=ctx.request_id)
    return answer.content.text


@server.tool
async def ask_folders(ctx: Context) -> str:
    """Asks for the client's folders."""
    roots = await ctx.list_roots() if hasattr(ctx, "list_roots") else (await ctx.session.list_roots()).roots
    return " ".join(str(root.uri) for root in roots)


@server.resource("memo://greeting", mime_type="text/plain")
def greeting() -> str:
    """A greeting."""
    return "hello"


@server.resource("memo://notes/{name}")
def note(name: str) -> str:
    """A note."""
    return f"the note {name}"


@server.prompt
def greet(who: str) -> str:
    """Greets somebody."""
    return f"Greet {who}."


# Version 3 has no completion.
if hasattr(server, "completion"):

    @server.completion
    async def complete(ref, argument, context):
        return [value for value in ("ann", "anna", "bob") if value.startswith(argument.value)]


server.run(show_banner=False)
