"""Options for the compiler, as `--compiler-flag KEY=VALUE` states them. No JAX."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench_core.errors import UsageError

Option = str | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilerFlags:
    """Flags by name, sorted, each once; none by default."""

    pairs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, words: Sequence[str]) -> "CompilerFlags":
        """From `KEY=VALUE` words; dashes in front, as in XLA_FLAGS, are dropped.

        Raises:
            UsageError: a word has no `=`, names no flag of XLA, or names one again.
        """
        flags: dict[str, str] = {}
        for word in words:
            key, equals, value = word.partition("=")
            key = key.lstrip("-")
            if not (key.startswith("xla_") and equals and value) or any(character.isspace() for character in word):
                raise UsageError(
                    f"--compiler-flag {word!r} is not KEY=VALUE",
                    cause="a flag of XLA has a name that starts with xla_, and a value, without spaces",
                    hint="use --compiler-flag xla_tpu_scoped_vmem_limit_kib=50000",
                )
            if key in flags:
                raise UsageError(
                    f"--compiler-flag {key} is given twice",
                    cause="a flag has one value in a run",
                    hint="make two runs",
                )
            flags[key] = value
        return cls(pairs=tuple(sorted(flags.items())))

    def options(self) -> dict[str, Option]:
        """As JAX's `compiler_options` take them: true and false are no text there, numbers are."""
        return {key: _option(value) for key, value in self.pairs}

    def adding(self, key: str, value: str) -> "CompilerFlags":
        """These flags with one set anew."""
        return CompilerFlags(pairs=tuple(sorted((dict(self.pairs) | {key: value}).items())))

    def get(self, key: str) -> str | None:
        return dict(self.pairs).get(key)

    def __str__(self) -> str:
        return " ".join(f"{key}={value}" for key, value in self.pairs)


NO_FLAGS = CompilerFlags()


def _option(value: str) -> Option:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    return value


def raise_refused_flag(error: Exception) -> None:
    """Turn the runtime's error about a flag into one about the request.

    Raises:
        UsageError: the compiler does not take one of the flags, in its words. All cases of a run have the same
            flags, so nothing has been measured before.
    """
    message = str(error)
    if any(words in message for words in ("No such compile option", "While setting option", "Failed to parse")):
        raise UsageError(
            "the compiler refuses a --compiler-flag",
            cause=" ".join(message.split()),
            hint="flags belong to one platform: xla_tpu_... ones need a TPU or --aot",
        ) from error
