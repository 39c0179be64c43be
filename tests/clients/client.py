"""The official Python client against quad: one connection, one line of output a check.

    client.py MODE http URL [TOKEN]
    client.py MODE stdio COMMAND [ARGUMENT…]

MODE is `modern` (2026-07-28) or `legacy` (2025-11-25). A line is `pass`, `fail` or `skip`, the check's name and a detail, with tabs
between them. The runner knows which checks are due.
"""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

VERSIONS = {"modern": "2026-07-28", "legacy": "2025-11-25"}
# A well-formed address of nothing, which is not an invalid parameter in the legacy era.
NOT_FOUND = {"modern": -32602, "legacy": -32002}
INVALID = -32602
UPDATE_SECONDS = 5


def expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise AssertionError(otherwise)


class Checks:
    def __init__(self, era: str) -> None:
        self.era = era
        self.updates: asyncio.Queue[str] = asyncio.Queue()
        self.client: Client
        self.tables: str | None = None
        self.place: dict[str, str] = {}

    async def on_message(self, message: Any) -> None:
        """Where a legacy connection delivers its notifications."""
        if isinstance(message, types.ResourceUpdatedNotification):
            self.updates.put_nowait(str(message.params.uri))

    async def read_list(self, uri: str) -> list[dict[str, Any]]:
        """Reads an address whose contents are one JSON array."""
        (contents,) = (await self.client.read_resource(uri)).contents
        expect(str(contents.uri) == uri, f"asked for {uri}, got {contents.uri}")
        return json.loads(contents.text)

    async def error_code(self, uri: str) -> int:
        try:
            result = await self.client.read_resource(uri)
        except MCPError as error:
            return error.code
        raise AssertionError(f"{uri} was read: {result}")

    async def connect(self) -> str:
        version = self.client.protocol_version
        expect(version == VERSIONS[self.era], f"negotiated {version}")
        return version

    async def list_resources(self) -> str:
        uris: list[str] = []
        cursor, pages = None, 0
        while pages == 0 or cursor is not None:
            page = await self.client.list_resources(cursor=cursor)
            uris += [str(resource.uri) for resource in page.resources]
            cursor, pages = page.next_cursor, pages + 1
            expect(pages <= 100, "more than 100 pages")
        expect("bkend://orgs" in uris, f"bkend://orgs is not among {uris[:10]}")
        expect(len(set(uris)) == len(uris), "a resource is listed twice")
        return f"{len(uris)} in {pages} pages"

    async def list_templates(self) -> str:
        templates: list[str] = []
        cursor, pages = None, 0
        while pages == 0 or cursor is not None:
            page = await self.client.list_resource_templates(cursor=cursor)
            templates += [template.uri_template for template in page.resource_templates]
            cursor, pages = page.next_cursor, pages + 1
            expect(pages <= 100, "more than 100 pages")
        for template in (
            "bkend://orgs/{orgId}/projects",
            "bkend://orgs/{orgId}/projects/{projectId}/environments",
            "bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}/tables",
        ):
            expect(template in templates, f"{template} is not among {templates[:10]}")
        return f"{len(templates)} templates"

    async def walk(self) -> str:
        """From the organizations to the tables, by the ids that each read returns."""
        organization = (await self.read_list("bkend://orgs"))[0]["id"]
        projects = f"bkend://orgs/{organization}/projects"
        project = (await self.read_list(projects))[0]["id"]
        environments = f"{projects}/{project}/environments"
        environment = next(e["id"] for e in await self.read_list(environments) if e["name"] == "dev")
        tables = f"{environments}/{environment}/tables"
        found = await self.read_list(tables)
        expect(len(found) > 0, "the demo project has no table")
        expect("schema" in found[0], "a table comes without its schema")
        self.tables = tables
        self.place = {"organizationId": organization, "projectId": project, "environmentId": environment}
        return tables

    async def complete(self) -> str:
        organization = self.place["organizationId"]
        result = await self.client.complete(
            types.ResourceTemplateReference(type="ref/resource", uri="bkend://orgs/{orgId}/projects"),
            {"name": "orgId", "value": organization[:4]},
        )
        expect(organization in result.completion.values, f"{organization} is not among {result.completion.values}")
        return f"{len(result.completion.values)} values"

    async def list_tools(self) -> str:
        tools = (await self.client.list_tools()).tools
        names = [tool.name for tool in tools]
        for name in ("get_context", "backend_table_create"):
            expect(name in names, f"{name} is not among {names}")
        expect(all(tool.description for tool in tools), "a tool has no description")
        return f"{len(names)} tools"

    async def get_context(self) -> str:
        result = await self.client.call_tool("get_context", {})
        expect(not result.is_error, f"isError: {result.content}")
        context = result.structured_content
        expect(context["organization"]["id"] == self.place["organizationId"], f"another organization: {context}")
        return context["organization"]["name"]

    async def bad_input(self) -> str:
        result = await self.client.call_tool("backend_table_create", {"name": 5})
        expect(result.is_error is True, f"not an error: {result.content}")
        return result.structured_content["error"]["code"]

    async def missing(self) -> str:
        code = await self.error_code("bkend://orgs/org_00000000000000000000000000/projects")
        expect(code == NOT_FOUND[self.era], f"code {code}")
        return str(code)

    async def unknown_address(self) -> str:
        code = await self.error_code("bkend://nothing/like/this")
        expect(code == INVALID, f"code {code}")
        return str(code)

    async def create_table(self) -> str:
        name = f"check_{uuid.uuid4().hex[:12]}"
        fields = [{"name": "title", "type": "string", "required": True}]
        result = await self.client.call_tool("backend_table_create", {**self.place, "name": name, "fields": fields})
        expect(not result.is_error, f"backend_table_create: {result.content}")
        return name

    async def subscribe(self) -> str:
        """A table made by a tool call is announced to the subscriber and seen by its next read."""
        tables = self.tables
        expect(tables is not None, "the walk did not reach a table list")
        async with asyncio.timeout(UPDATE_SECONDS):
            if self.era == "modern":
                async with self.client.listen(resource_subscriptions=[tables]) as subscription:
                    honored = [str(uri) for uri in subscription.honored.resource_subscriptions or []]
                    expect(tables in honored, f"acknowledged only {honored}")
                    name = await self.create_table()
                    updated = str((await anext(aiter(subscription))).uri)
            else:
                with warnings.catch_warnings(action="ignore"):
                    await self.client.subscribe_resource(tables)
                name = await self.create_table()
                updated = await self.updates.get()
        expect(updated == tables, f"told of {updated}")
        names = [table["name"] for table in await self.read_list(tables)]
        expect(name in names, f"{name} is not among {names} after the notification")
        return name


async def check(name: str, body: Callable[[], Awaitable[str]]) -> None:
    try:
        outcome, detail = "pass", await body()
    except TimeoutError:
        outcome, detail = "fail", f"nothing within {UPDATE_SECONDS} s"
    except Exception as error:  # whatever goes wrong is this check's failure, and the next one still runs
        outcome, detail = "fail", f"{type(error).__name__}: {error}"
    print(outcome, name, " ".join(detail.split()), sep="\t", flush=True)


async def main(era: str, transport: str, target: str, *arguments: str) -> None:
    checks = Checks(era)
    if transport == "stdio":
        server: Any = StdioServerParameters(command=target, args=list(arguments))
    else:
        headers = {"Authorization": f"Bearer {arguments[0]}"} if arguments else None
        server = streamable_http_client(target, http_client=create_mcp_http_client(headers))
    # `auto` asks the server, as a user's client does; which era comes out is a check of its own.
    mode = "legacy" if era == "legacy" else "auto"
    # Without the response cache every read reaches the server.
    async with Client(server, mode=mode, message_handler=checks.on_message, cache=None, read_timeout_seconds=10) as client:
        checks.client = client
        await check("connect", checks.connect)
        await check("list resources", checks.list_resources)
        await check("list templates", checks.list_templates)
        await check("walk to the tables", checks.walk)
        await check("complete", checks.complete)
        await check("list tools", checks.list_tools)
        await check("get_context", checks.get_context)
        await check("bad input", checks.bad_input)
        await check("missing resource", checks.missing)
        await check("unknown address", checks.unknown_address)
        await check("subscribe", checks.subscribe)


asyncio.run(main(*sys.argv[1:]))
