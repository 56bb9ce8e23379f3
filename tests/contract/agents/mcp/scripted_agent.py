"""An agent without a memory: it asks `status`, and does what the answer says is next, by MCP alone.

As a program it does that in a folder, with a server of its own, and prints a line for each call. With --once it makes
one call beyond `status`, then waits to be killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

GOAL = "Does int8 fake quantisation pay in the forward pass of a tiny MoE block on a CPU?"
HOSTS_LIMIT_S = 60.0

Call = Callable[..., Awaitable[Any]]


# A quick benchmark: int8 does a tenth more, and runs differ a little.
BENCH = """\
import os, sys
mode, run = sys.argv[2], int(os.environ["LOGBOOK_RUN"])
print(f"RESULT quant_mode={mode} tflops={ {'none': 2.0, 'int8': 2.2}[mode] + run % 3 / 100:.3f}")
"""


def command(mode: str) -> list[str]:
    """The benchmark of one side, or with `{axis}` of both."""
    return ["python3", "bench.py", "--quant-mode", mode]


def transcript(lines: list[str]) -> list[str]:
    """The calls among the lines that the program prints, each as its tool and arguments; `status`, which comes before
    each, and a call that is repeated until something has ended stand once."""
    calls = [json.loads(line) for line in lines if line.startswith("{")]
    for one in calls:
        if "digest" in one["arguments"]:
            one["arguments"]["digest"] = "sha256:..."
    texts = [f"{one['tool']} {json.dumps(one['arguments'])}".removesuffix(" {}") for one in calls]
    found: list[str] = []
    for text in texts:
        if text != "status" and text not in found[-1:]:
            found.append(text)
    return ["status", *found]


async def step(call: Call) -> bool:
    """One step of the story, chosen by the status alone; False where nothing is left to do."""
    status = await call("status")
    total = status.get("entries", {}).get("total", 0)
    compared = status.get("answers", [])
    answers = [one for one in compared if one["settled"]]
    planned = [one["id"] for one in status.get("open", {}).get("planned", [])]
    unmet = [n for n, one in enumerate(status["criteria"], 1) if not one["met"]]
    if status.get("running") or status.get("detached_series"):
        await call("wait", timeout_s=5)
    elif total == 0:
        await call("record", action="note", text="Kickoff", hypothesis="int8 is faster: fewer bytes are moved")
    elif planned:
        await call("run", id=planned[0])
    elif total == 1:
        words = [f"{mode}: {shlex.join(command(mode))}" for mode in ("none", "int8")]
        await call("plan", title="Both sides once", command=words)
    elif not compared:
        await call(
            "run",
            subcommand="ab",
            title="int8 A/B",
            hypothesis="int8 has more tflops",
            axis="quant_mode=none,int8",
            min_effect="5%",
            seed=1,
            argv=command("{axis}"),
        )
    elif not answers:
        raise AssertionError(f"the question stays open: {compared}")
    elif not status.get("decisions") and not any("id" in one for one in status.get("next_actions", [])):
        found = f"int8 gains [[{answers[0]['id']} vs base tflops]]."
        await call("record", action="edit", id=answers[0]["id"], interpretation=found, next="the same with topk=8")
    elif not status.get("decisions"):
        await call("record", action="keep", id=answers[0]["id"], why="it is faster here")
    elif unmet:
        await call("record", action="criterion", met=unmet[0], evidence=answers[0]["id"])
    elif not status.get("summary"):
        await call("record", action="summary", summary="int8 pays here.")
    elif (plan := await call("sync", create=True))["steps"]:
        await call("sync", create=True, digest=plan["digest"])
    else:
        return False
    return True


async def act(folder: str, *, once: bool) -> None:
    """Go on with the story, to its end or by one step."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "logbook_agent", "mcp", "--allow-run"], cwd=folder, env=dict(os.environ)
    )
    async with Client(stdio_client(server), read_timeout_seconds=HOSTS_LIMIT_S) as client:

        async def call(name: str, **given: Any) -> Any:
            result = await client.call_tool(name, given)
            answer = result.structured_content
            print(json.dumps({"tool": name, "arguments": given, "answer": answer}), flush=True)
            if result.is_error:
                raise AssertionError(answer)
            return answer["data"]

        while await step(call):
            if once:
                print("killed here", flush=True)
                await asyncio.sleep(600)
        print("nothing is left to do", flush=True)


if __name__ == "__main__":
    asyncio.run(act(sys.argv[1], once="--once" in sys.argv))
