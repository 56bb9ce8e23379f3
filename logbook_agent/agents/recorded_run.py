"""What of a recorded run is missing here, or is not like its record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import structs

from logbook_agent.campaign.run_request import is_hidden, is_script, is_secret
from logbook_agent.findings.cases import facts_of
from logbook_agent.findings.tables.frame import devices_text
from logbook_agent.model.run import Env, Row, Run, with_facts
from logbook_agent.model.worker_report import Began
from logbook_agent.running.executors import LOCAL
from logbook_agent.text.redaction.names import is_secret_name

# A name in a script, with `$` or `${...}` or bare; neither escaped nor a part of another word.
_NAME = re.compile(r"(?<![\\$\w])(?P<sign>\$\{?)?(?P<name>[A-Za-z_]\w*)(?P<close>\})?", re.ASCII)
_QUOTED = re.compile(r"'[^']*'")
_OF_A_SHELL = {"IFS", "LINENO", "OLDPWD", "OPTARG", "OPTIND", "PPID", "PWD", "RANDOM", "REPLY", "SECONDS", "UID"}
_OURS = "LOGBOOK_"


def lacking(run: Run, environ: Mapping[str, str]) -> Iterator[str]:
    """What its record lacks, or names and is not set here."""
    if run.on not in (None, LOCAL):
        yield f"the place it ran on: {run.on}; a run is reproduced on this machine alone"
    if run.code is None or run.code.commit is None or run.code.identity is None:
        yield "the code: it was not in a git repository, or could not be identified"
    if is_hidden(*run.argv):
        yield "a word of the command: it is a secret, which no record holds"
    for name in dict.fromkeys(_variables(run)):
        if name not in environ and name not in run.env.variables:
            yield f"variable {name}: not set here"
    for name, value in run.env.variables.items():
        if is_secret(value) and name not in environ:
            yield f"variable {name}: its value is a secret, which no record holds, and it is not set here"


def _variables(run: Run) -> Iterator[str]:
    """The variables that its command names: in a script those that stand nowhere in it without `$`, as they do where
    they are set, else secrets alone."""
    for at, word in enumerate(run.argv):
        in_script = is_script(run.argv, run.shell, at)
        found = [*_NAME.finditer(_QUOTED.sub("", word) if in_script else word)]
        bare = {match["name"] for match in found if not match["sign"]}
        for match in found:
            # `${NAME:-...}` has a default.
            if match["sign"] == "$" or (match["sign"] and match["close"]):
                is_set = match["name"] in bare | _OF_A_SHELL or match["name"].startswith(_OURS)
                if not is_set if in_script else is_secret_name(match["name"]):
                    yield match["name"]


def unlike(run: Run, now: Began) -> Iterator[str]:
    """In what this machine, and the code that was restored here, are not those of the record."""
    code, restored = run.code, now.code
    # What earlier versions called the identity is no other code's.
    if code is not None and (restored is None or (code.sources and restored.identity != code.identity)):
        why = f" ({now.problems[0]})" if now.problems else ""
        yield f"the code {(code.commit or '?')[:9]}: what was restored of it is not what ran{why}"
    made = with_facts(structs.replace(run, env=Env(declared=run.env.declared)), now)
    recorded, found = ({"devices": devices_text(one.own_devices), **facts_of(one, Row(), None)} for one in (run, made))
    is_cpu = all(device.platform == "cpu" for device in (*run.devices, *(d for row in run.rows for d in row.devices)))
    for name in dict.fromkeys((*recorded, *found)):
        there, here = recorded.get(name), found.get(name)
        # A host or device that was not recorded is not known; on an accelerator the host does not matter.
        is_unknown = there is None and name in ("devices", "host")
        if there == here or is_unknown or is_secret(there or "") or (name == "host" and not is_cpu):
            continue
        yield f"{name.replace(':', ' ', 1)}: {there or 'nothing'} in the record, {here or 'nothing'} here"
