"""Documents handed to the readers themselves, without a command line around them: a hundred times as many.

What is read can be written, and read again as the same; everything else is an error of ours.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from logbook_agent.campaign.recipe_files import RecipeFile, read_recipe
from logbook_agent.findings.summaries import summary_of
from logbook_agent.issue import marking
from logbook_agent.issue.answers import GithubIssue, IssueComment, Request, comment_of, issue_of
from logbook_agent.issue.github import GitHub
from logbook_agent.issue.pace import Pace, Stale
from logbook_agent.issue.values import Comment, Issue
from logbook_agent.model.codec import encode
from logbook_agent.model.errors import LogbookError, RemoteError
from logbook_agent.model.header import Metric
from logbook_agent.pages import views as views
from logbook_agent.running.results.classifier import KnownKeys
from logbook_agent.running.results.reader import ResultReader
from logbook_agent.store import records
from logbook_agent.store.book import Book
from logbook_agent.store.config import load_config, load_user_config
from logbook_agent.store.json_text import parse_json
from logbook_agent.store.parse import dump_yaml, parse_yaml
from logbook_agent.text.redaction.names import Secret
from logbook_agent.text.redaction.plain import clean_run, redacted
from logbook_agent.text.redaction.redactor import Redactor
from tools.fuzz.mutations import SECRET
from tools.fuzz.values import Document

_METRICS = (Metric(name="tflops", direction="max", unit="TF/s"), Metric(name="loss", direction="min"))
_REDACTOR = Redactor(secrets=(Secret(name="FUZZ_API_KEY", value=SECRET),))
# An entry is quick to read and slow to write.
_WRITTEN_ONE_IN = 4


class Readers:
    """Readers of what lies below `top`; what does not change is read once."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._kinds: Mapping[str, Callable[[Document], None]] = {
            "entry": self._entry,
            "run": self._run,
            "header": self._header,
            "settings": lambda _: str(load_config(top / "work")) and None,
            "user": lambda _: str(load_user_config(os.environ)) and None,
            "recipe": self._recipe,
            "view": self._view,
            "other": lambda _: self._all(),
            "special": lambda _: self._all(),
            "results": self._results,
            "github": self._github,
        }

    def try_document(self, document: Document) -> str | None:
        """What is wrong with how it is read. Errors of ours are right, where they name the document."""
        try:
            self._kinds[document.kind](document)
        except LogbookError as error:
            if not error.message or (document.name or "") not in error.message:
                return f"{type(error).__name__} does not name {document.name}: {error.message[:300]}"
        return None

    @cached_property
    def _book(self) -> Book:
        book = Book(self._top / "work" / "logbooks", "moe", redactor=lambda: _REDACTOR).outgoing()
        assert book.header
        return book

    @cached_property
    def _hub(self) -> GitHub:
        return GitHub(api="https://api.github.com", token=None, repository="acme/moe", pace=Pace(say=str))

    def _entry(self, document: Document) -> None:
        assert document.name
        record = self._book.record(document.name)
        _holds_no_secret(summary_of(record, self._book.header))
        if len(str(document.content)) % _WRITTEN_ONE_IN == 0:
            written = dump_yaml(encode(record.entry))
            path = self._book.entry_path(record.entry.id)
            assert encode(records.entry_of(written, path)) == {
                **parse_yaml(written, path),
                "id": path.stem,
                "name": path.stem,
            }
            _holds_no_secret(written)

    def _run(self, document: Document) -> None:
        assert document.name
        assert document.path
        record = self._book.record(document.name)
        summary_of(record, self._book.header)
        for standing in record.runs:
            plain = encode(clean_run(standing.run, _REDACTOR))
            written = json.dumps(plain, ensure_ascii=False, allow_nan=False)
            path = self._book.run_folder(standing.run.entry, standing.run.run) / "run.json"
            assert encode(records.run_of(written, path)) == plain | {"entry": path.parts[-3]}
            _holds_no_secret(plain)

    def _header(self, document: Document) -> None:
        assert document.path
        header = Book(self._book.root, "moe", redactor=lambda: _REDACTOR).outgoing().header
        if len(str(document.content)) % _WRITTEN_ONE_IN == 0:
            written = dump_yaml(encode(header))
            _holds_no_secret(written)
            assert parse_yaml(written, self._top / document.path) == encode(header)

    def _recipe(self, document: Document) -> None:
        assert document.path
        found = read_recipe(RecipeFile(path=self._top / document.path, own=True))
        found.chosen("tiny" if "scale" in found.data else None)

    def _view(self, document: Document) -> None:
        text = self._book.read_view() or ""
        views.is_generated(text)
        blocks = [views.Block(name, views.written(text)) for name in ("MOE-001", *views.parse(text))]
        built = views.build("moe", blocks)
        assert views.is_generated(built)
        assert {block.text for block in views.parse(built).values()} == {views.written(text)}

    def _all(self) -> None:
        load_config(self._top / "work")
        book = Book(self._book.root, "moe", redactor=lambda: _REDACTOR).outgoing()
        contents = book.contents()
        assert all(error.message for error in contents.damaged)
        book.open_runs()
        book.reservations.voids(book.entry_ids())
        book.summaries(lambda record: summary_of(record, book.header))

    def _results(self, document: Document) -> None:
        assert isinstance(document.content, bytes)
        text = document.content.decode("utf-8", "replace")
        known = KnownKeys(declared=_METRICS, axes=("topk",), argv=("bench", "--quant-mode=none"), config={"a": 1})
        reader = ResultReader(lambda plain: redacted(plain, _REDACTOR), known)
        for line in text.split("\n"):
            reader.feed(line)
        reading = reader.finish(file_text=text)
        plain = redacted(encode(list(reading.rows)), _REDACTOR)
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        _holds_no_secret(plain)
        assert len(reading.problems) <= 60
        assert all(len(problem.text) <= 400 for problem in reading.problems)

    def _github(self, document: Document) -> None:
        assert isinstance(document.content, bytes)
        key = marking.book_key(self._book.header)
        found = parse_json(document.content.decode("utf-8", "replace"), "an answer")
        library = self._hub._github

        def read() -> tuple[Issue, list[Comment]]:
            comments = [library.create_from_raw_data(IssueComment, comment) for comment in found["comments"]]
            issue = library.create_from_raw_data(GithubIssue, found["issue"])
            return issue_of(issue), [comment_of(comment) for comment in comments]

        answer = self._hub._outcome(Request(doing="read", about="issue 1", host="github.com", again=""), read)
        if isinstance(answer, RemoteError | Stale):
            return
        issue, comments = answer
        for comment in comments:
            marking.read_comment(comment.body, key)
        marking.find_block(issue.body, key)
        marking.spliced(issue.body, key, "text")


def _holds_no_secret(found: object) -> None:
    assert SECRET not in json.dumps(found, ensure_ascii=False)
