"""The server, as a host starts it: both protocols by the official client, how soon it is ready, what it imports."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from tests.conftest import REPOSITORY, Cli
from tests.contract.agents.mcp.test_mcp_faces import READS
from tests.contract.agents.mcp.test_mcp_tools import LABEL

pytestmark = pytest.mark.slow

MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"
SERVER = [sys.executable, "-m", "logbook_agent", "mcp"]


def server(folder: Path, *options: str) -> StdioServerParameters:
    return StdioServerParameters(command=SERVER[0], args=[*SERVER[1:], *options], cwd=folder, env=dict(os.environ))


def allow(root: Path) -> None:
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "logbook-agent/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"allow_run = [{json.dumps(str(root))}]\n")


@pytest.mark.parametrize("protocol", [MODERN, HANDSHAKE])
def test_both_protocols(started: Cli, folder: Path, protocol: str) -> None:
    assert started("run", "--", "sh", "-c", "echo METRIC tflops=1; echo done").code == 0
    allow(folder / "logbooks")

    async def talk() -> None:
        mode = "auto" if protocol == MODERN else "legacy"
        async with Client(stdio_client(server(folder, "--allow-run")), mode=mode, read_timeout_seconds=60) as client:
            assert client.protocol_version == protocol
            assert (client.instructions or "").startswith("A research logbook")
            listed = await client.list_tools()
            reading = {tool for tool, *_ in READS.values()} - {"sync"}
            writing = {"plan", "record", "run", "cancel", "sync"}
            assert {tool.name for tool in listed.tools} == {*reading, "wait", *writing}
            for tool in listed.tools:
                assert tool.annotations is not None
                assert tool.annotations.read_only_hint is (tool.name not in writing)
                assert tool.input_schema["additionalProperties"] is False
            assert len(listed.model_dump_json(by_alias=True, exclude_none=True)) <= 12_000
            status = await client.call_tool("status", {})
            assert status.structured_content["schema"] == "logbook/status/1"
            assert json.loads(status.content[0].text) == status.structured_content  # type: ignore[union-attr]
            if protocol == HANDSHAKE:
                return
            for name, given in (("status", {"budgets": 3}), ("show", {"id": 3}), ("nothing", {})):
                refused = await client.call_tool(name, given)
                assert refused.is_error
                assert refused.structured_content["error"].keys() == {"code", "message", "cause", "hint"}
            begun = await client.call_tool("run", {"argv": ["sh", "-c", "echo METRIC tflops=2"]})
            waited = await client.call_tool("wait", {"ids": [begun.structured_content["data"]["id"]]})
            assert waited.structured_content["data"]["ended"][0]["runs"][0]["tail"][1] == "METRIC tflops=2"
            assert [one.uri for one in (await client.list_resources()).resources] == ["logbook://moe/view"]
            assert len((await client.list_resource_templates()).resource_templates) == 2
            for address, said in {
                "view": "Research Logbook",
                "entry/MOE-000": "MOE-000",
                "log/MOE-000/1": f"```{LABEL}\nMETRIC tflops=1\ndone\n```",
            }.items():
                [read] = (await client.read_resource(f"logbook://moe/{address}")).contents
                assert said in read.text  # type: ignore[union-attr]
            wrong = (
                "moe/log/MOE-000/7",
                f"moe/log/MOE-000/{'9' * 5000}",
                "moe/log/MOE-000/../../etc",
                "[",
                "other/view",
            )
            for address in (*wrong, "moe"):
                with pytest.raises(MCPError) as error:
                    await client.read_resource(f"logbook://{address}")
                assert error.value.data["code"] == "not_found"

    asyncio.run(talk())


def test_a_line_that_is_no_message_is_answered(started: Cli, folder: Path) -> None:
    half = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    half["params"] = {"name": "record", "arguments": {"action": "note", "text": "cut \ud83d"}}
    lines = {
        "{": -32700, "[" * 100_000: -32700, "null": -32600, '{"jsonrpc": "2.0"}': -32600,
        '{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": []}': -32600, "": None, json.dumps(half): None,
    }  # fmt: skip
    sent = "".join(f"{line}\n" for line in (json.dumps(_INITIALIZE), *lines))
    with subprocess.Popen(SERVER, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(sent)
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(len(lines))]
        process.stdin.close()
    codes = [answer["error"]["code"] for answer in answers if "error" in answer]
    assert codes == [code for code in lines.values() if code is not None]
    [noted] = [answer for answer in answers if answer.get("id") == 7]
    assert noted["result"]["structuredContent"]["data"]["title"] == "cut ?"


def test_a_wait_leaves_the_server_free(started: Cli, folder: Path) -> None:
    assert started("run", "--detach", "--", "sleep", "30").code == 0

    async def talk() -> None:
        async with Client(stdio_client(server(folder)), read_timeout_seconds=60) as client:
            # More than there are threads for other calls.
            many = [asyncio.create_task(client.call_tool("wait", {"timeout_s": 20})) for _ in range(50)]
            waiting = many[0]
            await asyncio.sleep(0.5)
            status = await client.call_tool("status", {})
            assert status.structured_content["data"]["running"]
            assert not waiting.done()
            for one in many:
                one.cancel()

    began = time.monotonic()
    asyncio.run(talk())
    assert time.monotonic() - began < 20  # neither the answer nor the end waits for the wait
    assert started("cancel", "MOE-000").code == 0


def test_without_the_users_word_nothing_runs(started: Cli, folder: Path) -> None:
    refused = started("mcp", "--allow-run")
    assert refused.code == 2
    assert f'allow_run = ["{os.path.realpath(folder / "logbooks")}"]' in refused.err
    (folder / "logbook.toml").write_text(f"allow_run = [{json.dumps(str(folder / 'logbooks'))}]\n")
    assert started("mcp", "--allow-run").code != 0  # a project cannot say it

    async def talk() -> Any:
        async with Client(stdio_client(server(folder)), read_timeout_seconds=60) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return names, await client.call_tool("run", {"argv": ["true"]})

    (folder / "logbook.toml").unlink()
    names, answer = asyncio.run(talk())
    reading = {tool for tool, *_ in READS.values()}
    assert {*names} == {*reading, "wait", "plan", "record", "sync"}, "all but run and cancel"
    assert "--allow-run" in answer.structured_content["error"]["cause"]
    assert started("list", "--json").data == []


# -- how soon it is ready ----------------------------------------------------------------------------

MOST = 1.3
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def seconds_of_import(folder: Path) -> float:
    """The processor time of `import mcp.server`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "import mcp.server"], cwd=folder, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def seconds_until_ready(folder: Path) -> float:
    """The processor time of the server until it has answered the first request."""
    with subprocess.Popen(SERVER, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(_INITIALIZE) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "logbook"
        times = psutil.Process(process.pid).cpu_times()
        process.stdin.close()
    return float(times.user + times.system)


@pytest.mark.wide
def test_it_is_ready_soon(started: Cli, folder: Path) -> None:
    """Processor time, because others use this machine; of each the least of several."""
    seconds_of_import(folder), seconds_until_ready(folder)  # bytecode is written
    pairs = [(seconds_of_import(folder), seconds_until_ready(folder)) for _ in range(5)]
    assert min(ready for _, ready in pairs) <= MOST * min(alone for alone, _ in pairs), pairs


def test_other_commands_import_nothing_of_it(started: Cli, folder: Path) -> None:
    code = (
        "import sys; from tests.seams import logbook; logbook(['run', '--', 'true']); logbook(['status']);"
        " print([m for m in sys.modules if m.split('.')[0] in ('mcp', 'mcp_types', 'pydantic')], file=sys.stderr)"
    )
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True, check=True)
    assert done.stderr.strip().splitlines()[-1] == "[]"
