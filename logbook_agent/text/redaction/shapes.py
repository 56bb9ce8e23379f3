r"""What secrets look like, as data: the prefixes of keys, and patterns for those that have another shape.

A key is a prefix at the start of a word and at least twelve characters of base64 that make no words. Behind a weak
prefix, which names of models, files and functions have too, they are twelve random ones, and no digest. Keys of services
that give no prefix (32 hexadecimal digits) are known by the name before them alone. The table holds the services that
people of this field use: gitleaks knows the others.
"""

# ruff: noqa: E501 - patterns are not broken

from __future__ import annotations

import re

from msgspec import Struct


class Rule(Struct, frozen=True):
    """The shape of a secret; a project adds at most 100, of at most 2,000 characters.

    id: a secret becomes `[redacted:ID]`; a-z, 0-9 and `-`
    regex: what it looks like within one line, in the syntax of Python's re; the first group, if any, is the secret
    keywords: one of these, in any case, occurs in every match; without any, every line is tried
    """

    id: str
    regex: str
    keywords: tuple[str, ...] = ()
    # It matches only where a word may begin, as START says.
    is_word: bool = False


# By the ID under which a secret is shown, [redacted:ID]; a weak one has a tilde.
PREFIXES = {
    "github-token": "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
    "gitlab-token": "glpat- gldt- glft- glsoat- glrt- glrtr- glptt- glcbt- glagent- gloas- GR1348941",
    "google-key": "GOCSPX- 1//0 ~AIza ~ya29. ~AQ.",
    "docker-token": "dckr_pat_ dckr_oat_",
    "anthropic-key": "sk-ant-",
    "openai-key": "sk-proj- sk-svcacct- sk-admin- ~sk-",
    "groq-key": "gsk_",
    "perplexity-key": "pplx-",
    "nvidia-key": "nvapi-",
    "wandb-key": "wandb_v1_",
    "huggingface-token": "api_org_ ~hf_",
    "model-key": "pcsk_ lsv2_pt_ lsv2_sk_ sk-lf- sk-or-v1- sk-helicone- csk- tgp_v1_ tvly- llx- KGAT_",
    "cloudflare-token": "cfut_ cfat_ cfk_",
    "digitalocean-token": "dop_v1_ doo_v1_ dor_v1_",
    "fly-token": "fo1_ fm2_ fm1r_ fm1a_",
    "postman-key": "PMAK-",
    "onepassword-token": "ops_eyJ",
    "vault-token": "hvs. hvb. hvr.",
    "planetscale-token": "pscale_tkn_ pscale_pw_ pscale_oauth_",
    "supabase-key": "sb_secret_ ~sbp_",
    "prefect-key": "pnu_ pnb_",
    "pulumi-token": "pul-",
    "tailscale-key": "tskey-",
    "grafana-token": "glsa_ ~glc_",
    "sentry-token": "sntrys_ sntryu_",
    "newrelic-key": "NRAK-",
    "stripe-key": "sk_live_ rk_live_ sk_test_ rk_test_ whsec_",
    "shopify-token": "shpat_ shpca_ shppa_ shpss_",
    "linear-key": "lin_api_ lin_oauth_ lin_wh_",
    "notion-token": "ntn_ ~secret_",
    "figma-token": "figd_",
    "square-token": "sq0csp- sq0atp-",
    "replicate-token": "~r8_",
    "fireworks-key": "~fw_",
    "elevenlabs-key": "~sk_",
    "bedrock-key": "~ABSK",
    "bitbucket-token": "~ATATT3x ~ATCTT3x ~ATBB",
    "alibaba-key-id": "~LTAI",
    "npm-token": "~npm_",
    "pypi-token": "~pypi-",
    "xai-key": "~xai-",
    "runpod-key": "~rpa_",
    "jina-key": "~jina_",
    "jfrog-token": "~AKCp",
}

# What stands before the first letter of a key: no letter or digit, or one of an escape.
START = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\\[abefnrtv])|(?<=[0-9;\[][A-Za-z])|(?<=%[0-9A-F]{2})|(?<=\\u00[0-9a-f]{2}))"
)
_GAP = r"(?:\s|\\{1,4}(?:[nrt]|x0[9ad])){1,8}"  # between the words of a .netrc, also escaped
_TEXT = r"""["'`]?([^\s"'`$<\x1b][^\s"'`\x1b]*)"""
_SHORT = r"[^|&;]{0,200}?"

# A private key over several lines: its first and its last.
KEY_BEGINS = re.compile(
    r"-{4,5}[^\S\n]?BEGIN[^\S\n](?:[A-Z0-9]|[^\S\n]){0,40}PRIVATE[^\S\n]KEY(?:[A-Z]|[^\S\n]){0,20}-{4,5}"
    "|PuTTY-User-Key-File-[0-9]:"
)
KEY_ENDS = re.compile(
    r"-{4,5}[^\S\n]?END[^\S\n](?:[A-Z0-9]|[^\S\n]){0,40}-{4,5}|Private-(?:MAC|Hash):[^\S\n]?[0-9a-f]*"
)

RULES = (
    # A JSON web key.
    Rule("private-key", r"""kty.{0,400}?["'](?:d|p|q|dp|dq|qi|k)\\{0,7}["']\s?:\s?\\{0,7}["']([A-Za-z0-9_-]{42,})""", ("kty",)),
    Rule("age-key", r"(?i)AGE-SECRET-KEY-(?:PQ-)?1[02-9AC-HJ-NP-Z]{20,}", ("age-secret-key-",)),
    Rule("jwt", r"eyJ[A-Za-z0-9_=-]{8,4000}+(?:\.[A-Za-z0-9_=-]*){1,4}", is_word=True),
    # Headers, and what stands without its header.
    Rule("auth", r"""(?i)authorization[\\"']{0,4}\s{0,4}[:=]\s{0,4}[\\"']{0,4}(?:bearer|basic|token|negotiate|apikey|bot|digest)\s{1,4}([^\s"',;\\\x1b]+)""", ("authorization",)),
    Rule("auth", r"""(?i)authorization[\\"']{0,4}\s{0,4}[:=]\s{0,4}[\\"']{0,4}(?=[^\s"',;\\\x1b]{0,64}[0-9])([^\s"',;\\\x1b]{16,})""", ("authorization",)),
    Rule("auth", r"(?i)bearer\s{1,4}(?=[A-Za-z._~+/=-]{0,64}[0-9])([A-Za-z0-9._~+/=-]{16,})", ("bearer",), is_word=True),
    Rule("cookie", r"""(?i)(?<![A-Za-z0-9_-])(?:set-)?cookie[\\"']{0,4}\s{0,4}[:=]\s{0,4}[\\"']{0,4}([\w.!#$%&*+^|~-]{1,128}=(?:[^\s"'\\\x1b;]{4,}|[^\s"'\\\x1b;]*;\s?[^\s"'\\\x1b;])(?:[^\s"'\\\x1b]|(?<=;)\s)*)""", ("cookie",)),
    # The signature of a link or a request, which stands for the key.
    Rule("signature", r"""(?i)(?:x-[a-z0-9]{2,12}-signature["']?\s{0,4}(?:=|%3D|:)|[?&;]sig(?:nature)?=|credential=\S{1,256},\s?signature=)\s{0,4}["']?([A-Za-z0-9%+/=_-]{16,})""", ("sig=", "signature")),
    Rule("azure-key", r"(?:AccountKey|SharedAccessKey|SharedAccessSignature)=([A-Za-z0-9+/=%&_.-]{16,})", ("accountkey=", "sharedaccess")),
    Rule("azure-secret", r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", ("q~",), is_word=True),
    Rule("aws-key-id", r"(?:AKIA|ASIA|ABIA|A3T[A-Z0-9])[A-Z0-9]{16,}", ("akia", "asia", "abia", "a3t")),
    Rule("aws-secret-key", r"""(?i)aws.{0,20}?(?:key|pwd|pw|password|pass|token).{0,20}?["']([0-9a-zA-Z/+]{40})\\{0,7}["']""", ("aws",)),
    Rule("databricks-token", r"dapi[a-f0-9]{32}", ("dapi",), is_word=True),
    *(Rule("openai-key", rf"{prefix}[a-f0-9]{{32,64}}", is_word=True) for prefix in ("sk-", "sk_")),
    Rule("terraform-token", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}", (".atlasv1.",)),
    Rule("slack-token", r"(?i)xox[a-z](?:\.xox[a-z])?-[a-z0-9-]{8,}|xapp-[a-z0-9-]{8,}", ("xox", "xapp-")),
    Rule("slack-webhook", r"(?i)hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{4,}", ("hooks.slack.com/",)),
    Rule("discord-webhook", r"(?i)discord(?:app)?\.com/api/webhooks/[0-9]{5,}/[A-Za-z0-9_-]{16,}", ("/api/webhooks/",)),
    *(Rule("discord-token", rf"{first}[A-Za-z0-9_-]{{23,25}}\.[A-Za-z0-9_-]{{6}}\.(?=[A-Za-z_-]{{0,26}}[0-9])[A-Za-z0-9_-]{{27,}}") for first in "MNO"),
    Rule("teams-webhook", r"(?i)[a-z0-9-]{1,64}\.webhook\.office\.com/webhookb2/[a-z0-9@/-]{16,}", (".webhook.office.com/",)),
    Rule("telegram-token", r"[0-9]{8,10}:AA[0-9A-Za-z_-]{33}", (":aa",)),
    *(Rule("twilio-key", rf"{prefix}[a-f0-9]{{32}}(?![A-Za-z0-9])", is_word=True) for prefix in ("SK", "AC")),
    Rule("sendgrid-key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", ("sg.",)),
    Rule("mailchimp-key", r"[0-9a-z]{32}-us[0-9]{1,2}", ("-us",), is_word=True),
    Rule("onepassword-token", r"A3-[A-Z0-9]{6}-[A-Z0-9]{5,6}(?:-[A-Z0-9]{5,6}){3,5}", ("a3-",), is_word=True),
    Rule("npm-token", r'//.{1,256}?/:_(?:authToken|auth|password)\s?=\s?"?([A-Za-z0-9_+/=-]{8,})', (":_auth", ":_password")),
    # Passwords in files and commands.
    Rule("password", r"""(?:543[2-5]|6432|\*):(?:[A-Za-z_][\w.-]{0,64}|\*):(?:[A-Za-z_][\w.@-]{0,64}|\*):((?:[^\s\\"':]|\\[\\:])+)""", (":5432:", ":5433:", ":6432:", ":*:")),
    Rule("password", rf"(?i)(?:machine|login|account){_GAP}\S{{1,256}}?{_GAP}password{_GAP}((?:[^\s\\]|\\[^nrtx\s])+)", ("login", "machine", "account")),
    Rule("password", r"(?i)^[+|>#\s-]*(?:\([^()]{1,64}\)\s?)?(?:[+|>#]\s?|\s+)password\s{1,8}(\S+)\s*$", ("password",)),
    Rule("password", r"(?i)^password\s{1,8}(\S*[0-9!@#$%^&*+=_-]\S*)\s*$", ("password",)),
    Rule("password", r"""(?i)(?<![a-z0-9_])pwd\s{0,4}=\s{0,4}["']?([^\s;"'`/~$.<\[\\][^\s;"'`\\]{3,})""", ("pwd",)),
    Rule("password", rf"""curl\s(?:{_SHORT}\s)??(?:-[A-Za-z]{{0,8}}[uU]|--user|--proxy-user)(?:\s*|=)["']?[^\s:"'/$]{{0,64}}:{_TEXT}""", ("curl",)),
    Rule("password", rf"(?:mysql|mysqldump|mysqladmin|mariadb)\s(?:{_SHORT}\s)??-p(?=[^\s=-]){_TEXT}", ("mysql", "mariadb")),
    Rule("password", rf"(?:sshpass|(?:docker|podman|helm|az)\s(?:{_SHORT}\s)??login)\s(?:{_SHORT}\s)??-p\s*{_TEXT}", ("sshpass", "login")),
    Rule("api-key", r"wandb\slogin\s{1,4}(?:--\S{1,64}\s{1,4}){0,4}([A-Za-z0-9_-]{32,})", ("login",)),
    # The value before its name: `"X" == db_password`.
    Rule("secret", r"""["'`](?=[^"'`]{0,100}[0-9])([^\\"'`\s]{8,500})\\{0,7}["'`]\s{0,40}[!=]={1,2}\s{0,40}[\w.-]{0,64}(?i:passw|passphrase|secret|token|(?:api|access|private)[_-]?key|credential|pwd|jwt|_pat\b)""", ("==", "!=")),
    # A secret that a sentence names: `password is: X`.
    Rule("password", r"""(?i)\b(?:password|passwd|passphrase|secret|api[\s_-]?key|access[\s_-]?key)s?\s{1,4}(?:is|was|set\sto|changed\sto)(?:\s{0,4}:\s{0,4}|\s{1,4})["'`]?([^\s"'`]*[0-9!@#$%^&*+=][^\s"'`]*[^\s"'`.,;:)])""", ("password is", "password was", "password set", "password changed", "passphrase is", "passphrase was", "secret is", "secret was", "key is", "key was", "key set")),
    Rule("api-key", r"""(?i)\b(?:api|secret|private|client|access|service)(?:\saccess)?\s(?:key|token|secret|password)["'*_`]{0,3}\s{0,4}[:=]\s{0,4}["'*_`]{0,3}([A-Za-z0-9](?=[^\s"'`,;]{0,64}[0-9])[^\s"'`,;]{5,})""", ("api key", "api token", "api secret", "api password", "secret key", "secret token", "access key", "access token", "private key", "client secret", "service key", "service token")),
)  # fmt: skip
