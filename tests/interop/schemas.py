"""The official schema of every revision, to check messages of the server."""

import json
import os
from functools import cache
from pathlib import Path

from jsonschema.validators import validator_for
from mcp_types.methods import validate_server_result
from referencing import Registry, Resource
from referencing.jsonschema import specification_with

LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
FOLDER = Path(os.environ["INTEROP_SCHEMAS"])

# Results that are not named after their request.
RESULTS = {"ping": "EmptyResult"}


class Schema:
    """The definitions of a revision."""

    def __init__(self, revision):
        document = json.loads((FOLDER / f"{revision}.json").read_text(encoding="utf-8"))
        self.place = "$defs" if "$defs" in document else "definitions"
        self.definitions = document[self.place]
        dialect = specification_with(document["$schema"])
        resource = Resource.from_contents(document, default_specification=dialect)
        self.registry = Registry().with_resource("urn:schema", resource)
        self.validator = validator_for(document)
        # Later schemas have other names for the same definitions.
        self.success = self.first("JSONRPCResultResponse", "JSONRPCResponse")
        self.failure = self.first("JSONRPCErrorResponse", "JSONRPCError")
        # The notification per method, and the errors with more than a code and a message.
        self.requests, self.notifications, self.errors = {}, {}, {}
        for name, definition in self.definitions.items():
            properties = definition.get("properties", {})
            if method := properties.get("method", {}).get("const"):
                kind = self.requests if name.endswith("Request") else self.notifications
                kind[method] = name
            if code := properties.get("code", {}).get("const"):
                self.errors[code] = (name, False)
            for part in properties.get("error", {}).get("allOf", []):
                if code := part.get("properties", {}).get("code", {}).get("const"):
                    self.errors[code] = (name, True)

    def first(self, *names):
        return next(name for name in names if name in self.definitions)

    @cache
    def of(self, name):
        reference = {"$ref": f"urn:schema#/{self.place}/{name}"}
        return self.validator(reference, registry=self.registry)

    def require(self, name, value):
        faults = [f"{name}: {e.json_path}: {e.message}" for e in self.of(name).iter_errors(value)]
        assert not faults, (faults, value)

    def result(self, method):
        """The name of a method's result."""
        name = self.requests[method].removesuffix("Request") + "Result"
        return RESULTS.get(method, name)


@cache
def schema(revision):
    return Schema(revision)


def check_notification(message, revision):
    """Checks a notification of the server against the schema."""
    its = schema(revision)
    its.require("JSONRPCNotification", message)
    its.require(its.notifications[message["method"]], message)
    its.require("ServerNotification", message)


def check_error(message, revision):
    its = schema(revision)
    its.require(its.failure, message)
    name, is_whole = its.errors.get(message["error"]["code"], (None, None))
    if name:
        its.require(name, message if is_whole else message["error"])


def check_result(message, revision, method):
    """Checks the answer to a method against the schema."""
    its = schema(revision)
    its.require(its.success, message)
    result = message["result"]
    if result.get("resultType") == "input_required":
        its.require("InputRequiredResult", result)
    else:
        its.require(its.result(method), result)
        whole = its.result(method) + "Response"
        if whole in its.definitions:
            its.require(whole, message)
    if method not in ["ping", "subscriptions/listen"]:
        validate_server_result(method, revision, result)
