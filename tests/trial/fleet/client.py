"""A client of either era that says exactly how a call ended."""

import asyncio
import itertools
import json

SESSION, STATELESS = "2025-11-25", "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
INFO = {"name": "trial", "version": "1.0.0"}
CAPABILITIES = {"elicitation": {"form": {}}}
ACCEPTED = {"action": "accept", "content": {"colour": "teal"}}
# How long a client tries again when it is told to.
PERSEVERANCE = 30


class Lost(Exception):
    """A request that brought no result, and why."""


class Response:
    def __init__(self, connection, status, headers):
        self.connection, self.status, self.headers = connection, status, headers

    async def pieces(self):
        """The body as it comes."""
        reader = self.connection.reader
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
                yield (await reader.readexactly(size + 2))[:-2]
            await reader.readuntil(b"\r\n")
        elif length := int(self.headers.get("content-length", 0)):
            yield await reader.readexactly(length)
        self.connection.is_free = self.headers.get("connection", "").lower() != "close"

    async def messages(self):
        kind = self.headers.get("content-type", "")
        if not kind.startswith("text/event-stream"):
            body = b"".join([piece async for piece in self.pieces()])
            # A load balancer says in HTML what is wrong.
            if body and kind.startswith("application/json"):
                yield json.loads(body)
            return
        rest, data = b"", []
        async for piece in self.pieces():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                line = line.rstrip(b"\r")
                if line.startswith(b"data:"):
                    data.append(line[5:].lstrip())
                elif not line and data:
                    text, data = b"\n".join(data), []
                    if text:
                        yield json.loads(text)


class Connection:
    def __init__(self, reader, writer):
        self.reader, self.writer, self.is_free = reader, writer, False

    @classmethod
    async def open(cls, port):
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def send(self, method, headers, body=b""):
        self.is_free = False
        head = [f"{method} /mcp HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        self.writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        await self.writer.drain()
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        fields = [line.partition(":") for line in lines[1:] if line]
        return Response(self, int(lines[0].split()[1]), {name.lower(): value.strip() for name, _, value in fields})

    def close(self):
        self.writer.close()


class Client:
    """`port` may be changed at any time: it is where the next connection goes."""

    def __init__(self, port, era):
        self.port, self.era, self.session, self.free = port, era, None, []
        self.numbers = itertools.count(1)
        self.retried = 0

    async def open(self):
        if self.era == SESSION:
            params = {"protocolVersion": SESSION, "capabilities": CAPABILITIES, "clientInfo": INFO}
            await self.request("initialize", params)
            await self.post({"method": "notifications/initialized"})
        return self

    def headers(self, message):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if message.get("method") != "initialize":
            headers["MCP-Protocol-Version"] = self.era
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        if self.era == STATELESS:
            headers["Mcp-Method"] = message["method"]
            if "name" in message.get("params", {}):
                headers["Mcp-Name"] = message["params"]["name"]
        return headers

    def message(self, method, params):
        if self.era == STATELESS:
            meta = {"protocolVersion": STATELESS, "clientInfo": INFO, "clientCapabilities": CAPABILITIES}
            params = params | {"_meta": {PREFIX + name: value for name, value in meta.items()}}
        return {"id": next(self.numbers), "method": method, "params": params}

    async def connection(self):
        """One that is free and not closed meanwhile, or a new one."""
        while self.free:
            connection = self.free.pop()
            if not connection.reader.at_eof():
                return connection
            connection.close()
        return await Connection.open(self.port)

    async def exchange(self, message):
        """The response, and its messages. The connection is kept if all of them were read."""
        connection = await self.connection()
        try:
            body = json.dumps({"jsonrpc": "2.0", **message}).encode()
            response = await connection.send("POST", self.headers(message), body)
            yield response
            async for received in response.messages():
                yield received
        finally:
            if connection.is_free:
                self.free.append(connection)
            else:
                connection.close()

    async def post(self, message, on_question=None):
        """The response to this message, or None where there is none to come."""
        until = asyncio.get_running_loop().time() + PERSEVERANCE
        while True:
            try:
                answer, status, headers = await self.attempt(message, on_question)
            except (OSError, asyncio.IncompleteReadError) as problem:
                raise Lost(f"connection lost ({type(problem).__name__})") from problem
            if status == 503 and "retry-after" in headers and asyncio.get_running_loop().time() < until:
                self.retried += 1
                await asyncio.sleep(float(headers["retry-after"]))
                continue
            if "error" in (answer or {}):
                raise Lost(f"HTTP {status}: {answer['error']['message']}")
            if status not in (200, 202):
                raise Lost(f"HTTP {status}")
            if answer is None and "id" in message and "method" in message:
                raise Lost("the stream ended without a response")
            return answer

    async def attempt(self, message, on_question):
        answer, status, headers = None, None, {}
        async for received in self.exchange(message):
            if isinstance(received, Response):
                status, headers = received.status, received.headers
                self.session = headers.get("mcp-session-id", self.session)
            elif received.get("method") == "elicitation/create" and on_question:
                await on_question(received)
            elif "method" not in received and (status != 200 or received.get("id") == message.get("id")):
                answer = received
        return answer, status, headers

    async def request(self, method, params, on_question=None):
        return (await self.post(self.message(method, params), on_question))["result"]

    async def call(self, tool, arguments, answer_after=0):
        """The result of a tool. Its question is answered so many seconds later."""
        params = {"name": tool, "arguments": arguments}

        async def answer(question):
            await asyncio.sleep(answer_after)
            await self.post({"id": question["id"], "result": ACCEPTED})

        result = await self.request("tools/call", params, answer)
        while result.get("resultType") == "input_required":
            await asyncio.sleep(answer_after)
            again = {"inputResponses": {key: ACCEPTED for key in result["inputRequests"]}}
            if "requestState" in result:
                again["requestState"] = result["requestState"]
            result = await self.request("tools/call", params | again)
        return result

    async def end(self):
        connection = await Connection.open(self.port)
        response = await connection.send("DELETE", self.headers({}))
        connection.close()
        if response.status != 204:
            raise Lost(f"HTTP {response.status}")

    async def listen(self):
        """A connection on which the proxy sends notifications: the response, whose body has no end of its own."""
        connection = await Connection.open(self.port)
        if self.era == SESSION:
            headers = self.headers({}) | {"Accept": "text/event-stream"}
            return await connection.send("GET", headers)
        message = self.message("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        return await connection.send("POST", self.headers(message), json.dumps({"jsonrpc": "2.0", **message}).encode())

    def close(self):
        while self.free:
            self.free.pop().close()
