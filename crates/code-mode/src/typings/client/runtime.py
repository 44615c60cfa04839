from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import threading
import urllib.error
import urllib.request
from typing import Any, Literal, NoReturn, Optional, Sequence, Tuple, TypedDict, Union, cast

_PROTOCOL_VERSION = "2026-07-28"

# The keys that lead to an argument, and the end of the name of its header.
_HeaderArgument = Tuple[Sequence[str], str]


class ToolError(Exception):
    """A call failed: the tool says why, or the proxy has refused it."""

    def __init__(self, message: str, result: Any = None, code: Optional[int] = None) -> None:
        super().__init__(message)
        self.result = result
        self.code = code


def _arguments(args: Any, more: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call: those of the dict, and those that are given by keyword."""
    return {**(args or {}), **more}


class Client:
    """Calls the tools of one proxy: at its URL, or else over the standard input and output of a command.

    Args:
      url: such as `http://127.0.0.1:8080/mcp`. The default is the variable PROXY_URL.
      token: a bearer token, for a URL. The default is the variable PROXY_TOKEN.
      headers: further headers, for a URL.
      command: started if there is no URL. The default is `["proxy", "serve"]`.
      timeout: how long a call may take, in seconds.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        headers: Optional[dict[str, str]] = None,
        command: Optional[Sequence[str]] = None,
        timeout: float = 60,
    ) -> None:
        url = url or os.environ.get("PROXY_URL") or None
        token = token or os.environ.get("PROXY_TOKEN") or None
        self._connection: Union[_HttpConnection, _ChildConnection]
        if url is None:
            self._connection = _ChildConnection(list(command or ["proxy", "serve"]), timeout)
        else:
            self._connection = _HttpConnection(url, token, headers or {}, timeout)

    def call_tool(self, name: str, args: Any, headers: Sequence[_HeaderArgument] = ()) -> Any:
        """Calls any tool by its name. `headers` has the arguments that are also sent as headers."""
        params = {"name": name, "arguments": args or {}}
        return _output(self._connection.request("tools/call", params, headers))

    def close(self) -> None:
        """Ends the connection. A proxy that was started for it ends too."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


_shared: Optional[Client] = None


def shared_client() -> Client:
    """The client of functions that are called without one."""
    global _shared
    if _shared is None:
        _shared = Client()
    return _shared


class _HttpConnection:
    def __init__(self, url: str, token: Optional[str], headers: dict[str, str], timeout: float) -> None:
        self._url, self._token, self._headers, self._timeout = url, token, headers, timeout

    def request(self, method: str, params: dict[str, Any], headers: Sequence[_HeaderArgument]) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": _meta()}}
        named = {
            **self._headers,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _PROTOCOL_VERSION,
            "Mcp-Method": method,
            "Mcp-Name": _header_value(params["name"]),
        }
        for path, suffix in headers:
            value = params["arguments"]
            for key in path:
                value = value.get(key) if isinstance(value, dict) else None
            if value is not None:
                text = json.dumps(value) if isinstance(value, (bool, int)) else str(value)
                named["Mcp-Param-" + suffix] = _header_value(text)
        if self._token is not None:
            named["Authorization"] = "Bearer " + self._token
        request = urllib.request.Request(self._url, json.dumps(message).encode(), named)
        status = 200
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as response:
                text, kind = response.read().decode(), response.headers.get("Content-Type") or ""
        except urllib.error.HTTPError as error:
            text, kind, status = error.read().decode(errors="replace"), error.headers.get("Content-Type") or "", error.code
        except (OSError, ValueError) as error:
            raise ToolError(f"no answer from {self._url}: {error}") from None
        answer = _answer_in_stream(text) if kind.startswith("text/event-stream") else _parsed(text)
        if answer is None:
            raise ToolError(f"{self._url} answered with HTTP {status}: {text[:500]}")
        return _result_of(answer)

    def close(self) -> None:
        pass


class _Answer:
    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.message: Union[dict[str, Any], ToolError, None] = None


class _ChildConnection:
    def __init__(self, command: list[str], timeout: float) -> None:
        self._command, self._timeout = command, timeout
        self._child: Optional[subprocess.Popen[str]] = None
        self._waiting: dict[int, _Answer] = {}
        self._last = 0
        self._lock = threading.Lock()

    def request(self, method: str, params: dict[str, Any], headers: Sequence[_HeaderArgument]) -> Any:
        del headers  # Only HTTP has them.
        answer = _Answer()
        with self._lock:
            child = self._child or self._start()
            self._last += 1
            number = self._last
            self._waiting[number] = answer
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": _meta()}}
            assert child.stdin is not None
            try:
                child.stdin.write(json.dumps(message) + "\n")
                child.stdin.flush()
            except OSError:
                answer.message = self._error("has ended")
                answer.arrived.set()
        arrived = answer.arrived.wait(self._timeout)
        with self._lock:
            self._waiting.pop(number, None)
        if not arrived:
            raise ToolError(f"no answer within {self._timeout} s")
        if isinstance(answer.message, ToolError):
            raise answer.message
        return _result_of(answer.message or {})

    def close(self) -> None:
        with self._lock:
            child, self._child = self._child, None
        if child is not None and child.stdin is not None:
            child.stdin.close()
            child.wait()

    def _start(self) -> subprocess.Popen[str]:
        try:
            child = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        except OSError as error:
            raise self._error(f"cannot be started: {error}") from None
        self._child = child
        threading.Thread(target=self._read, args=[child], daemon=True).start()
        return child

    def _read(self, child: subprocess.Popen[str]) -> None:
        assert child.stdout is not None
        for line in child.stdout:
            message = _parsed(line)
            if message is not None:
                with self._lock:
                    answer = self._waiting.pop(cast(int, message.get("id")), None)
                if answer is not None:
                    answer.message = message
                    answer.arrived.set()
        with self._lock:
            if self._child is child:
                self._child = None
            waiting, self._waiting = list(self._waiting.values()), {}
        for answer in waiting:
            answer.message = self._error(f"ended with code {child.wait()}")
            answer.arrived.set()

    def _error(self, reason: str) -> ToolError:
        return ToolError(f"`{' '.join(self._command)}` {reason}")


def _meta() -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": _PROTOCOL_VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "typed-client", "version": "1.0.0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }


def _parsed(text: str) -> Optional[dict[str, Any]]:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _answer_in_stream(text: str) -> Optional[dict[str, Any]]:
    """The answer among the events of a stream; the others are notifications."""
    for event in re.split(r"\r?\n\r?\n", text):
        lines = [line[5:].removeprefix(" ") for line in re.split(r"\r?\n", event) if line.startswith("data:")]
        message = _parsed("\n".join(lines))
        if message is not None and ("result" in message or "error" in message):
            return message
    return None


def _result_of(answer: dict[str, Any]) -> Any:
    error = answer.get("error")
    if error is not None:
        raise ToolError(str(error.get("message") or "the proxy has refused the call"), None, error.get("code"))
    return answer.get("result")


def _output(result: Any) -> Any:
    """What a tool has returned: its structured content, its only text, or its whole content."""
    result = result or {}
    content = result.get("content") or []
    texts = [str(block.get("text")) for block in content if block.get("type") == "text"]
    if result.get("isError"):
        raise ToolError("\n".join(texts) or "the tool failed", result)
    if result.get("resultType", "complete") != "complete":
        raise ToolError("the tool asks its user something, which this client cannot answer", result)
    if "structuredContent" in result:
        return result["structuredContent"]
    return texts[0] if len(content) == 1 and len(texts) == 1 else content


def _header_value(text: str) -> str:
    """The value of a header: plain if it is printable ASCII, and otherwise in Base64."""
    is_plain = re.fullmatch(r"[\x20-\x7e]*", text) and text.strip() == text
    if is_plain and not re.fullmatch(r"=\?base64\?.*\?=", text):
        return text
    return "=?base64?" + base64.b64encode(text.encode()).decode() + "?="
