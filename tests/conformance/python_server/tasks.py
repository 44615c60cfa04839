"""Tools that become tasks for clients who know the extension. The SDK has no tasks; it carries ours as they are."""

import asyncio
import json
import secrets
from datetime import datetime, timezone

import mcp_types as types
from mcp.shared.exceptions import MCPError

from call import era_wise, text
from dialogue import INVALID_PARAMS, MISSING_CAPABILITY, ask, form

EXTENSION = "io.modelcontextprotocol/tasks"
TEXT = {"type": "string"}
HEADER_MISMATCH = -32020
LONGEST_CALL = 1
TTL_MS = 300_000

TOOLS = {
    "greet": ("Greets, always at once.", {"name": TEXT}),
    "slow_compute": ("Takes its time.", {"seconds": {"type": "number"}, "label": TEXT}),
    "failing_job": ("A task that ends with an error result.", {}),
    "protocol_error_job": ("A task that fails.", {}),
    "confirm_delete": ("A task that asks whether to go on.", {"filename": TEXT}),
    "multi_input": ("A task that asks two things at once.", {}),
    "test_tool_with_task": ("Asks for a name, then becomes a task.", {}),
}

running = {}


class Task:
    def __init__(self, work):
        self.id = secrets.token_hex(16)
        self.created = self.updated = now()
        self.status, self.outcome = "working", {}
        self.pending, self.received = {}, {}
        self.answered = asyncio.Event()
        self.job = asyncio.create_task(self.run(work))
        running[self.id] = self

    async def run(self, work):
        try:
            self.end("completed", result=await work(self))
        except MCPError as failure:
            self.end("failed", error={"code": failure.code, "message": failure.message})
        except asyncio.CancelledError:
            self.end("cancelled")

    def end(self, status, **outcome):
        self.status, self.outcome, self.pending, self.updated = status, outcome, {}, now()

    async def ask(self, questions):
        self.pending, self.status = dict(questions), "input_required"
        while self.pending:
            await self.answered.wait()
            self.answered.clear()
        self.status = "working"
        return self.received

    def receive(self, answers):
        for key in [key for key in answers if key in self.pending]:
            del self.pending[key]
            self.received[key] = answers[key]
        self.updated = now()
        self.answered.set()

    def described(self, kind):
        told = {"resultType": kind, "taskId": self.id, "status": self.status, "createdAt": self.created}
        told.update({"lastUpdatedAt": self.updated, "ttlMs": TTL_MS, "pollIntervalMs": 100})
        return told


def now():
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def knows_tasks(capabilities):
    return EXTENSION in capabilities.get("extensions", {})


def lacking():
    needed = {"extensions": {EXTENSION: {}}}
    return MCPError(MISSING_CAPABILITY, "the client lacks a capability", {"requiredCapabilities": needed})


async def answer(call):
    if call.name not in TOOLS:
        return None
    if call.name == "greet":
        return text(f"Hello, {call.arguments['name']}!")
    tasks = knows_tasks(call.capabilities)
    if call.name == "failing_job" and not tasks:
        raise lacking()
    if call.name == "test_tool_with_task":
        answers, asked = await ask(call, {"user_name": form("What is your name?", {"name": TEXT})})
        if asked:
            return asked
        greeting = text(f"Hello, {answers['user_name']['content']['name']}!")
        return Task(lambda task: said(greeting)).described("task") if tasks else greeting
    if tasks:
        return Task(lambda task: work(call, task)).described("task")
    if questions := asked_by(call):
        answers, asked = await ask(call, questions)
        return asked or text(json.dumps(answers))
    return await work(call, None)


async def said(result):
    return result


def asked_by(call):
    match call.name:
        case "confirm_delete":
            return {"confirm": form(f"Delete {call.arguments['filename']}?", {"confirm": {"type": "boolean"}})}
        case "multi_input":
            return {key: form(f"The {key} value?", {"value": TEXT}) for key in ("first", "second")}
    return None


async def work(call, task):
    if questions := asked_by(call):
        return text(json.dumps(await task.ask(questions)))
    match call.name:
        case "slow_compute":
            seconds = call.arguments["seconds"]
            # What takes longer is for tasks.
            await asyncio.sleep(seconds if task else min(seconds, LONGEST_CALL))
            return text(f"computed {call.arguments.get('label')} in {seconds} seconds")
        case "failing_job":
            return {**text("This job fails."), "isError": True}
    raise MCPError(types.INTERNAL_ERROR, "this job breaks")


class TaskParams(types.RequestParams):
    task_id: str
    input_responses: dict | None = None


def found(context, params):
    declared = context.session.client_capabilities
    if not knows_tasks(declared.model_dump(by_alias=True, exclude_none=True) if declared else {}):
        raise lacking()
    # The SDK compares the header with the names it knows, and tasks are not among them.
    if context.request.headers.get("mcp-name", params.task_id) != params.task_id:
        raise MCPError(HEADER_MISMATCH, "the header Mcp-Name names another task")
    if params.task_id not in running:
        raise MCPError(INVALID_PARAMS, "there is no such task")
    return running[params.task_id]


async def get(context, params):
    task = found(context, params)
    pending = {"inputRequests": task.pending} if task.pending else {}
    return {**task.described("complete"), **task.outcome, **pending}


async def update(context, params):
    found(context, params).receive(params.input_responses or {})
    return {}


async def cancel(context, params):
    found(context, params).job.cancel()
    return {}


def register(server):
    server.extensions[EXTENSION] = {}
    for method, handler in [("tasks/get", get), ("tasks/update", update), ("tasks/cancel", cancel)]:
        server.add_request_handler(method, TaskParams, era_wise(handler))
