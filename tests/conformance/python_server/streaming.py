"""Tools that send something beside their result: progress, logs, news of changes, or a stream that ends too early."""

import contextlib

import anyio
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged

from call import text

TOOLS = {
    "test_tool_with_progress": ("Reports its progress in three steps.", {}),
    "test_tool_with_logging": ("Logs three messages.", {}),
    "test_logging_tool": ("Logs one message if the request asks for logs.", {}),
    "test_reconnection": ("Closes its stream before the result, where a client can take it up again.", {}),
    "test_trigger_tool_change": ("Adds a tool, or takes it away again.", {}),
    "test_trigger_prompt_change": ("Adds a prompt, or takes it away again.", {}),
}

# The change is real: what is listed before and after differs.
passing = {"tool": False, "prompt": False}
# Who wants to hear of it: subscriptions of the stateless era, and sessions.
bus = InMemorySubscriptionBus()
sessions = []


async def answer(call):
    session = call.context.session
    match call.name:
        case "test_tool_with_progress":
            for done in (0, 50, 100):
                await session.report_progress(done, 100, f"{done} of 100")
                await anyio.sleep(0.05)
        case "test_tool_with_logging":
            for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
                await log(call, message)
                await anyio.sleep(0.05)
        case "test_logging_tool":
            await log(call, "Logging was asked for")
        case "test_reconnection":
            if call.context.close_sse_stream is not None:
                await call.context.close_sse_stream()
                await anyio.sleep(0.1)
        case "test_trigger_tool_change":
            passing["tool"] = not passing["tool"]
            await bus.publish(ToolsListChanged())
            await tell([other.send_tool_list_changed for other in sessions])
        case "test_trigger_prompt_change":
            passing["prompt"] = not passing["prompt"]
            await bus.publish(PromptsListChanged())
            await tell([other.send_prompt_list_changed for other in sessions])
        case _:
            return None
    return text("Done.")


async def log(call, message):
    """In the stateless era the SDK itself holds back what the request did not ask for."""
    session = call.context.session
    await session.send_log_message("info", message, "conformance-server", related_request_id=call.context.request_id)


async def join(context, params):
    sessions.append(context.session)


async def tell(messages):
    for send in messages:
        # Whoever left needs no news.
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await send()
