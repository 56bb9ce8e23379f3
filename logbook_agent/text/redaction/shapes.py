r"""What secrets look like, as data: the prefixes of keys, and patterns for those that have another shape.

A key is a prefix at the start of a word and at least twelve characters of base64 that make no words. Behind a WEAK
prefix, which names of models, files and functions have too, they are twelve random ones, and no digest. Keys of services
that give no prefix (32 hexadecimal digits) are known by the name before them alone. The table holds the services that
people of this field use: gitleaks knows the others.
"""

# ruff: noqa: E501 - patterns are not broken

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
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


# By the ID under which a secret is shown, [redacted:ID].
STRONG = {
    "github-token": "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
    "gitlab-token": "glpat- gldt- glft- glsoat- glrt- glrtr- glptt- glcbt- glagent- gloas- GR1348941",
    "google-key": "GOCSPX- 1//0",
    "docker-token": "dckr_pat_ dckr_oat_",
    "package-token": "rubygems_ CLOJARS_ squ_ sqp_ CCIPAT_ CCIPRJ_ bkua_ bkaa_",
    "anthropic-key": "sk-ant-",
    "openai-key": "sk-proj- sk-svcacct- sk-admin-",
    "groq-key": "gsk_",
    "perplexity-key": "pplx-",
    "nvidia-key": "nvapi-",
    "wandb-key": "wandb_v1_",
    "huggingface-token": "api_org_",
    "model-key": "pcsk_ lsv2_pt_ lsv2_sk_ sk-lf- sk-or-v1- sk-helicone- csk- tgp_v1_ tvly- llx- KGAT_",
    "vercel-token": "vcp_ vck_ vercel_blob_rw_",
    "cloudflare-token": "cfut_ cfat_ cfk_",
    "digitalocean-token": "dop_v1_ doo_v1_ dor_v1_",
    "doppler-token": "dp.pt. dp.st. dp.ct. dp.sa.",
    "fly-token": "fo1_ fm2_ fm1r_ fm1a_",
    "postman-key": "PMAK-",
    "onepassword-token": "ops_eyJ",
    "vault-token": "hvs. hvb. hvr.",
    "planetscale-token": "pscale_tkn_ pscale_pw_ pscale_oauth_",
    "supabase-key": "sb_secret_",
    "prefect-key": "pnu_ pnb_",
    "pulumi-token": "pul-",
    "tailscale-key": "tskey-",
    "grafana-token": "glsa_",
    "sentry-token": "sntrys_ sntryu_",
    "newrelic-key": "NRAK-",
    "stripe-key": "sk_live_ rk_live_ sk_test_ rk_test_ whsec_",
    "shopify-token": "shpat_ shpca_ shppa_ shpss_",
    "linear-key": "lin_api_ lin_oauth_ lin_wh_",
    "notion-token": "ntn_",
    "figma-token": "figd_",
    "square-token": "sq0csp- sq0atp-",
}
WEAK = {
    "huggingface-token": "hf_",
    "openai-key": "sk-",
    "replicate-token": "r8_",
    "fireworks-key": "fw_",
    "elevenlabs-key": "sk_",
    "bedrock-key": "ABSK",
    "bitbucket-token": "ATATT3x ATCTT3x ATBB",
    "google-key": "AIza ya29. AQ.",
    "supabase-key": "sbp_",
    "notion-token": "secret_",
    "alibaba-key-id": "LTAI",
    "npm-token": "npm_",
    "pypi-token": "pypi-",
    "xai-key": "xai-",
    "runpod-key": "rpa_",
    "jina-key": "jina_",
    "grafana-token": "glc_",
    "posthog-key": "phx_ phc_ phs_",
    "jfrog-token": "AKCp",
}

# What stands before the first letter of a key: no letter or digit, or one of an escape.
START = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\\[abefnrtv])|(?<=[0-9;\[][A-Za-z])|(?<=%[0-9A-F]{2})|(?<=\\u00[0-9a-f]{2}))"
)
_GAP = r"(?:\s|\\{1,4}(?:[nrt]|x0[9ad])){1,8}"  # between the words of a .netrc, also escaped
_TEXT = r"""["'`]?([^\s"'`$<\x1b][^\s"'`\x1b]*)"""
_SHORT = r"[^|&;]{0,200}?"


def _rule(id_: str, keywords: str, regex: str, *, is_word: bool = False) -> Rule:
    words = tuple(keywords.split("|")) if keywords else ()
    return Rule(id=id_, regex=regex, keywords=words, is_word=is_word)


# A private key over several lines: its first and its last.
KEY_BEGINS = re.compile(r"-{4,5}\s?BEGIN\s[A-Z0-9\s]{0,40}PRIVATE\sKEY[A-Z\s]{0,20}-{4,5}|PuTTY-User-Key-File-[0-9]:")
KEY_ENDS = re.compile(r"-{4,5}\s?END\s[A-Z0-9\s]{0,40}-{4,5}|Private-(?:MAC|Hash):\s?[0-9a-f]*")

RULES = (
    _rule("private-key", "private|putty-", rf"(?:{KEY_BEGINS.pattern}).*?(?:{KEY_ENDS.pattern})"),
    # A JSON web key.
    _rule("private-key", "kty", r"""kty.{0,400}?["'](?:d|p|q|dp|dq|qi|k)\\{0,7}["']\s?:\s?\\{0,7}["']([A-Za-z0-9_-]{42,})"""),
    _rule("age-key", "age-secret-key-", r"(?i)AGE-SECRET-KEY-(?:PQ-)?1[02-9AC-HJ-NP-Z]{20,}"),
    _rule("jwt", "eyj", r"eyJ[A-Za-z0-9_=-]{8,4000}+(?:\.[A-Za-z0-9_=-]*){1,4}", is_word=True),
    # Headers, and what stands without its header.
    _rule("auth", "authorization", r"""(?i)authorization[\\"']{0,4}\s{0,4}[:=]\s{0,4}[\\"']{0,4}(?:bearer|basic|token|negotiate|apikey|bot|digest)\s{1,4}([^\s"',;\\\x1b]+)"""),
    _rule("auth", "authorization", r"""(?i)authorization[\\"']{0,4}\s{0,4}[:=]\s{0,4}[\\"']{0,4}(?=[^\s"',;\\\x1b]{0,64}[0-9])([^\s"',;\\\x1b]{16,})"""),
    _rule("auth", "bearer", r"(?i)bearer\s{1,4}(?=[A-Za-z._~+/=-]{0,64}[0-9])([A-Za-z0-9._~+/=-]{16,})", is_word=True),
    _rule("cookie", "cookie", r"""(?i)(?<![A-Za-z0-9_-])(?:set-)?cookie[\\"']{0,4}\s{0,4}[:=]\s{0,4}[\\"']{0,4}([\w.!#$%&*+^|~-]{1,128}=(?:[^\s"'\\\x1b;]{4,}|[^\s"'\\\x1b;]*;\s?[^\s"'\\\x1b;])(?:[^\s"'\\\x1b]|(?<=;)\s)*)"""),
    # The signature of a link or a request, which stands for the key.
    _rule("signature", "sig=|signature", r"""(?i)(?:x-[a-z0-9]{2,12}-signature["']?\s{0,4}(?:=|%3D|:)|[?&;]sig(?:nature)?=|credential=\S{1,256},\s?signature=)\s{0,4}["']?([A-Za-z0-9%+/=_-]{16,})"""),
    _rule("azure-key", "accountkey=|sharedaccess", r"(?:AccountKey|SharedAccessKey|SharedAccessSignature)=([A-Za-z0-9+/=%&_.-]{16,})"),
    _rule("azure-secret", "q~", r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", is_word=True),
    _rule("aws-key-id", "akia|asia|abia|a3t", r"(?:AKIA|ASIA|ABIA|A3T[A-Z0-9])[A-Z0-9]{16,}"),
    _rule("aws-secret-key", "aws", r"""(?i)aws.{0,20}?(?:key|pwd|pw|password|pass|token).{0,20}?["']([0-9a-zA-Z/+]{40})\\{0,7}["']"""),
    _rule("databricks-token", "dapi", r"dapi[a-f0-9]{32}", is_word=True),
    _rule("openai-key", "sk-|sk_", r"sk[-_][a-f0-9]{32,64}", is_word=True),
    _rule("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"),
    _rule("slack-token", "xox|xapp-", r"(?i)xox[a-z](?:\.xox[a-z])?-[a-z0-9-]{8,}|xapp-[a-z0-9-]{8,}"),
    _rule("slack-webhook", "hooks.slack.com/", r"(?i)hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{4,}"),
    _rule("discord-webhook", "/api/webhooks/", r"(?i)discord(?:app)?\.com/api/webhooks/[0-9]{5,}/[A-Za-z0-9_-]{16,}"),
    _rule("discord-token", "", r"[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.(?=[A-Za-z_-]{0,26}[0-9])[A-Za-z0-9_-]{27,}"),
    _rule("teams-webhook", ".webhook.office.com/", r"(?i)[a-z0-9-]{1,64}\.webhook\.office\.com/webhookb2/[a-z0-9@/-]{16,}"),
    _rule("telegram-token", ":aa", r"[0-9]{8,10}:AA[0-9A-Za-z_-]{33}"),
    _rule("twilio-key", "", r"(?:SK|AC)[a-f0-9]{32}(?![A-Za-z0-9])", is_word=True),
    _rule("sendgrid-key", "sg.", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _rule("mailchimp-key", "-us", r"[0-9a-z]{32}-us[0-9]{1,2}", is_word=True),
    _rule("onepassword-token", "a3-", r"A3-[A-Z0-9]{6}-[A-Z0-9]{5,6}(?:-[A-Z0-9]{5,6}){3,5}", is_word=True),
    _rule("npm-token", ":_auth|:_password", r'//.{1,256}?/:_(?:authToken|auth|password)\s?=\s?"?([A-Za-z0-9_+/=-]{8,})'),
    # Passwords in files and commands.
    _rule("password", ":5432:|:5433:|:6432:|:*:", r"""(?:543[2-5]|6432|\*):(?:[A-Za-z_][\w.-]{0,64}|\*):(?:[A-Za-z_][\w.@-]{0,64}|\*):((?:[^\s\\"':]|\\[\\:])+)"""),
    _rule("password", "login", rf"(?i)login{_GAP}\S{{1,256}}?{_GAP}(?:account{_GAP}\S{{1,256}}?{_GAP})?password{_GAP}((?:[^\s\\]|\\[^nrtx\s])+)"),
    _rule("password", "machine|account", r"""(?i)(?:machine|account)\s{1,8}\S{1,256}\s{1,8}password\s{1,8}([^\s"'\\]+)"""),
    _rule("password", "password", r"(?i)^[+|>#\s-]*(?:\([^()]{1,64}\)\s?)?(?:[+|>#]\s?|\s+)password\s{1,8}(\S+)\s*$"),
    _rule("password", "password", r"(?i)^password\s{1,8}(\S*[0-9!@#$%^&*+=_-]\S*)\s*$"),
    _rule("password", "pwd", r"""(?i)(?<![a-z0-9_])pwd\s{0,4}=\s{0,4}["']?([^\s;"'`/~$.<\[\\][^\s;"'`\\]{3,})"""),
    _rule("password", "curl", rf"""curl\s(?:{_SHORT}\s)??(?:-[A-Za-z]{{0,8}}[uU]|--user|--proxy-user)(?:\s*|=)["']?[^\s:"'/$]{{0,64}}:{_TEXT}"""),
    _rule("password", "sshpass", rf"sshpass\s(?:{_SHORT}\s)??-p\s*{_TEXT}"),
    _rule("password", "mysql|mariadb", rf"(?:mysql|mysqldump|mysqladmin|mariadb)\s(?:{_SHORT}\s)??-p(?=[^\s=-]){_TEXT}"),
    _rule("password", "login", rf"(?:docker|podman|helm|az)\s(?:{_SHORT}\s)??login\s(?:{_SHORT}\s)??-p\s*{_TEXT}"),
    _rule("api-key", "wandb", r"wandb\slogin\s{1,4}(?:--\S{1,64}\s{1,4}){0,4}([A-Za-z0-9_-]{32,})"),
    # A secret that a sentence names: `password is: X`.
    _rule("password", "password is|password was|password set|password changed|passphrase is|passphrase was|secret is|secret was|key is|key was|key set", r"""(?i)\b(?:password|passwd|passphrase|secret|api[\s_-]?key|access[\s_-]?key)s?\s{1,4}(?:is|was|set\sto|changed\sto)(?:\s{0,4}:\s{0,4}|\s{1,4})["'`]?([^\s"'`]*[0-9!@#$%^&*+=][^\s"'`]*[^\s"'`.,;:)])"""),
    _rule("api-key", "api key|api token|api secret|api password|secret key|secret token|access key|access token|private key|client secret|service key|service token", r"""(?i)\b(?:api|secret|private|client|access|service)(?:\saccess)?\s(?:key|token|secret|password)["'*_`]{0,3}\s{0,4}[:=]\s{0,4}["'*_`]{0,3}([A-Za-z0-9](?=[^\s"'`,;]{0,64}[0-9])[^\s"'`,;]{5,})"""),
)  # fmt: skip
