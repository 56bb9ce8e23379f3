"""The rules of shapes: each knows its kind in every frame, and leaves what only looks like it."""

from __future__ import annotations

import re

import pytest

from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.shapes import RULES
from logbook_agent.text.redaction.stream import StreamRedactor
from tests.breadth import STRESS
from tests.contract.text.redaction.kinds_support import ALL, BLOCKS, KEYS, PHRASES, TOKENS, Kind

PLAIN = Redactor()
# Before and behind a token: quotes, brackets, colours, escapes, parts of a name, percent signs.
FRAMES = (
    *("{}", "a {} b", '"{}",', "x={}", "x:{}", "({})", "[{}]", "/{}/", "<{}>", "'{}'", "`{}`", "|{}|", "x_{}", "x-{}"),
    *("\x1b[32m{}\x1b[0m", "\x1b[K{}", "{}\\n", "\\t{}", "a\\n{}", "%3D{}", "\\u003d{}", "{};", "{}.", "{}\r", "é{}é"),
)


@pytest.mark.parametrize("kind", TOKENS, ids=lambda kind: kind.id)
def test_a_token_becomes_a_mark_as_a_whole(kind: Kind) -> None:
    for frame in FRAMES:
        told = kind.sample(frame)
        [secret] = told.secrets
        before, after = frame.format(told.text).split(secret)
        done = PLAIN.text(frame.format(told.text))
        # A sign of the frame behind it may be one of the token's letters.
        assert done.startswith(f"{before}[redacted:{kind.rule}]"), frame
        assert after.endswith(done.removeprefix(f"{before}[redacted:{kind.rule}]")), frame


def several(kind: Kind) -> dict[str, str]:
    """A phrase or block where it may stand in logs, diffs, data and scripts."""
    text = kind.sample().text
    lines = text.split("\n")
    return {
        "alone": text,
        "in a log": "\n".join(f"(pid=1, ip=10.0.0.1) {line}" for line in lines),
        "in a diff": "\n".join(f"+{line}" for line in lines),
        "in a quote": "\n".join(f"> {line}" for line in lines),
        "as a word": str(PLAIN.argv(["echo", text])),
        "behind a name": str(PLAIN.argv(["echo", f"x={text}"])),
        "in a script": str(PLAIN.argv(["bash", "-c", f"echo {text}"])),
        "in python": str(PLAIN.argv(["python3", "-c", f"print({text!r})"])),
    }


@pytest.mark.parametrize("kind", [*KEYS, *PHRASES, *BLOCKS], ids=lambda kind: kind.id)
def test_nothing_of_a_phrase_or_a_key_is_left(kind: Kind) -> None:
    for place, text in several(kind).items():
        for spelt in (text, repr(text)) if place == "alone" else (text,):
            left = [part for part in kind.sample().fragments if part in PLAIN.text(spelt)]
            assert left == [], place


# Like a secret of the rule, and none.
NEAR_MISSES = {
    "age-key": "age-secret-key-1 is the prefix",
    "github-token": "ghp_short gho_ github_pat_short",
    "gitlab-token": "glpat-short glft-lora",
    "bitbucket-token": "ATATT3x ATBB",
    "npm-token": "npm_config_cache npm_lifecycle_event",
    "pypi-token": "pypi-publish pypi-server-of-the-lab",
    "docker-token": "dckr_pat_short",
    "jfrog-token": "AKC AKCess",
    "huggingface-token": "hf_transfer hf_hub_download hf_model",
    "anthropic-key": "sk-ant-api03",
    "openai-key": "sk-learn-is-a-library task-specific-module disk-parallel",
    "groq-key": "gsk_short",
    "xai-key": "xai-grok",
    "perplexity-key": "pplx-7b-online",
    "replicate-token": "r8_0 layer8_norm",
    "fireworks-key": "fw_bw fw_matmul_kernel",
    "nvidia-key": "nvapi-short",
    "wandb-key": "wandb_v1_run",
    "aws-key-id": "AKIA ASIA EMEA",
    "google-key": "AIza ya29. GOCSPX-",
    "signature": "?sig=short",
    "azure-key": "AccountKey=none",
    "azure-secret": "8Q~short",
    "databricks-token": "dapi dapi-runtime",
    "digitalocean-token": "dop_v1_short",
    "vault-token": "hvs.short",
    "terraform-token": "x.atlasv1.y",
    "alibaba-key-id": "LTAI",
    "planetscale-token": "pscale_tkn_short",
    "fly-token": "fo1_short fm2_norm",
    "slack-token": "xoxb xapp-",
    "slack-webhook": "hooks.slack.com/services",
    "discord-token": "MixtureOfExpertsLayerBlock.module.shared_expert_projection_weight",
    "discord-webhook": "discord.com/api/webhooks/1/x",
    "teams-webhook": "x.webhook.office.com/webhookb2/",
    "telegram-token": "123456789:short 1718900000:0.5",
    "twilio-key": "SKIP ACCURACY",
    "sendgrid-key": "SG.x.y",
    "mailchimp-key": "0123456789abcdef-us1",
    "stripe-key": "sk_live_short disk_live_bytes",
    "square-token": "sq0csp-short",
    "linear-key": "lin_api_short lin_attention",
    "notion-token": "ntn_short secret_weapon",
    "figma-token": "figd_short fig_dir_for_plots_of_the_paper",
    "grafana-token": "glsa_short glc_short",
    "sentry-token": "sntrys_short",
    "newrelic-key": "NRAK-short",
    "postman-key": "PMAK-short",
    "shopify-token": "shpat_short",
    "supabase-key": "sbp_short",
    "pulumi-token": "pul-short",
    "prefect-key": "pnu_short",
    "onepassword-token": "A3-SHORT",
    "tailscale-key": "tskey-auth-short",
    "jwt": "eyJ eyJhbGciOiJIUzI1NiJ9",
    "private-key": "-----BEGIN CERTIFICATE----- BEGIN PUBLIC KEY",
    "credentials": "https://host:8080/a@b ssh://git@host",
    "auth": "Authorization: required; bearer of news",
    "cookie": "cookie: required; accept cookies",
    "password": "the password is long; password hashing; login shell; login me",
    "api-key": "wandb login --relogin",
    "aws-secret-key": "aws key rotation",
}


@pytest.mark.parametrize("rule", sorted({kind.rule for kind in ALL if kind.rule}))
def test_what_only_looks_like_a_secret_stays(rule: str) -> None:
    assert PLAIN.text(NEAR_MISSES[rule]) == NEAR_MISSES[rule]


@pytest.mark.slow
def test_a_keyword_stands_in_every_match() -> None:
    """Else the gate would pass a line that its rule knows."""
    for kind in ALL:
        for rule in RULES:
            for line in kind.sample().text.split("\n"):
                if re.search(rule.regex, line) and rule.keywords:
                    assert any(keyword in line.lower() for keyword in rule.keywords), (rule.id, line)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.id)
@pytest.mark.sample(20)
def test_a_pause_at_any_place_shows_no_part_that_is_hidden(kind: Kind) -> None:
    """What came so far is shown when nothing more comes for a while."""
    sample = kind.sample("piece")
    data, safe = sample.text.encode(), PLAIN.text(sample.text)
    hidden = [part.encode() for part in sample.fragments if part not in safe]
    for cut in range(len(data) if STRESS else min(len(data), 60)):
        stream = StreamRedactor(PLAIN)
        out = b"".join([stream.feed(data[:cut]), stream.flush_idle(), stream.feed(data[cut:]), stream.finish()])
        assert not [part for part in hidden if part in out], cut
