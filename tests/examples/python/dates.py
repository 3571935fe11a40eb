#!/usr/bin/env python3
"""An MCP server that knows the calendar, in Python's standard library alone.

It speaks MCP 2025-11-25 over stdio: JSON-RPC, one message per line, requests on
stdin, answers on stdout. stdout belongs to the protocol; what people should read
goes to stderr. It ends when stdin does.
"""

import datetime
import json
import sys
import traceback

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # newest first

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602


class Refusal(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class ToolError(Exception):
    """A call that failed in a way that the model may mend: it reads the text."""


def parse_date(arguments, name):
    value = arguments.get(name)
    try:
        return datetime.datetime.strptime(value, "%Y-%m-%d").date()
    except (TypeError, ValueError):
        raise ToolError(f"{name} must be a day that exists, like 2026-02-28, not {value!r}")


def days_between(arguments):
    days = (parse_date(arguments, "to") - parse_date(arguments, "from")).days
    return f"{days} days"


def add_days(arguments):
    days = arguments.get("days")
    if not isinstance(days, int) or isinstance(days, bool):
        raise ToolError(f"days must be a whole number, not {days!r}")
    try:
        day = parse_date(arguments, "date") + datetime.timedelta(days=days)
    except OverflowError:
        raise ToolError("that day is not between the years 1 and 9999")
    return f"{day.isoformat()}, a {day.strftime('%A')}"


def date_schema(description):
    return {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "description": description}


READS_ONLY = {"readOnlyHint": True, "openWorldHint": False}

# Each tool: what the model reads about it, and the function that does it.
TOOLS = {
    "days_between": (
        {
            "description": "Counts the days from one date to another; negative if the second is earlier.",
            "inputSchema": {
                "type": "object",
                "properties": {"from": date_schema("YYYY-MM-DD"), "to": date_schema("YYYY-MM-DD")},
                "required": ["from", "to"],
                "additionalProperties": False,
            },
            "annotations": READS_ONLY,
        },
        days_between,
    ),
    "add_days": (
        {
            "description": "Tells the date, with its day of the week, that lies some days after another one.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "date": date_schema("YYYY-MM-DD"),
                    "days": {"type": "integer", "description": "How many days; negative looks back"},
                },
                "required": ["date", "days"],
                "additionalProperties": False,
            },
            "annotations": READS_ONLY,
        },
        add_days,
    ),
}


def initialize(params):
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "dates-python", "version": "1.0.0"},
    }


def ping(params):
    return {}


def list_tools(params):
    return {"tools": [dict(about, name=name) for name, (about, _) in TOOLS.items()]}


def call_tool(params):
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str) or name not in TOOLS:
        raise Refusal(INVALID_PARAMS, f"unknown tool: {name!r}")
    if not isinstance(arguments, dict):
        raise Refusal(INVALID_PARAMS, "arguments must be an object")
    try:
        text, failed = TOOLS[name][1](arguments), False
    except ToolError as fault:
        text, failed = str(fault), True
    except Exception:
        traceback.print_exc()  # to stderr: for the admin, not for the model
        text, failed = "the tool broke; its server's log says how", True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


METHODS = {"initialize": initialize, "ping": ping, "tools/list": list_tools, "tools/call": call_tool}


def answer(line):
    """The answer to one line, or None where none is due."""
    try:
        message = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as fault:
        return error(None, PARSE_ERROR, f"not JSON: {fault}")
    if not isinstance(message, dict):
        return error(None, INVALID_REQUEST, "not a request object")
    if "method" not in message and ("result" in message or "error" in message):
        return None  # an answer to a question that we never asked
    if "id" not in message and isinstance(message.get("method"), str):
        return None  # a notification; one call at a time leaves nothing to cancel
    number, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if isinstance(number, bool) or not isinstance(number, (str, int)) or not isinstance(method, str):
        return error(None, INVALID_REQUEST, "a request needs an id and a method")
    try:
        if method not in METHODS:
            raise Refusal(METHOD_NOT_FOUND, f"unknown method: {method}")
        if not isinstance(params, dict):
            raise Refusal(INVALID_PARAMS, "params must be an object")
        return {"jsonrpc": "2.0", "id": number, "result": METHODS[method](params)}
    except Refusal as fault:
        return error(number, fault.code, str(fault))


def error(number, code, message):
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def main():
    print("dates: ready", file=sys.stderr)
    for line in sys.stdin.buffer:  # as bytes: what is no UTF-8 is answered too
        reply = answer(line) if line.strip() else None
        if reply is not None:
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        sys.stderr.close()
        sys.exit(0)
