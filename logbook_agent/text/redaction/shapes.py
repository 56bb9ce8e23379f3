"""What secrets look like: what the keys of services begin with, and patterns for those that have another shape.

A key is such a prefix and at least twelve letters of base64 that make no words; of SHORT_KEYS, which are short or words,
only at the start of a word, and twenty letters that are no digest: `live_` and an md5 name a file. Keys of services that
give no prefix (32 hexadecimal digits), or an ordinary word (`key-`), are known by the name before them alone. A match
that only refers to a secret ($NAME, <token>, a row of stars) stays. Users add rules of this form to logbook.toml.
"""

# ruff: noqa: E501 - patterns are not broken

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A pattern in RE2's syntax, whose first group is the secret, or the whole match without one.

    `group`: the number of the group, where it is not the first. One of the `keywords` (in lower case) occurs in every
    match; a rule without any is tried on every line. `entropy`: the least Shannon entropy of the secret, in bits for each
    character, where the shape alone also fits words.
    """

    id: str
    regex: str
    group: int | None = None
    keywords: tuple[str, ...] = ()
    entropy: float = 0.0


# By the ID under which a secret is shown, [redacted:ID].
KEYS = {
    "github-token": "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
    "gitlab-token": "glpat- gldt- glft- glsoat- glrt- glrtr- glptt- glcbt- glagent- gloas- glimt- glffct- GR1348941",
    "google-key": "GOCSPX-",
    "rubygems-token": "rubygems_",
    "docker-token": "dckr_pat_ dckr_oat_",
    "sonar-token": "squ_ sqp_ sqa_ sqco_",
    "sourcegraph-token": "sgp_ slk_",
    "circleci-token": "CCIPAT_ CCIPRJ_",
    "buildkite-token": "bkua_ bkaa_ bkaj_ bkar_ bkct_ bkpt_ bkpat_ bkps_",
    "snyk-token": "snyk_uat. snyk_sat.",
    "package-token": "CLOJARS_ BBDC- vtwn_",
    "ci-token": "AIK_SECRET_ AIK_CI_ mergify_application_key_ thog-secret- sm_pat_ sm_aat_ sm_sat_ dnkey-",
    "anthropic-key": "sk-ant-",
    "groq-key": "gsk_",
    "perplexity-key": "pplx-",
    "nvidia-key": "nvapi-",
    "wandb-key": "wandb_v1_",
    "huggingface-token": "api_org_",
    "pinecone-key": "pcsk_",
    "langsmith-key": "lsv2_pt_ lsv2_sk_ ls__",
    "langfuse-key": "sk-lf-",
    "cerebras-key": "csk-",
    "together-key": "tgp_v1_",
    "tavily-key": "tvly-",
    "llamacloud-key": "llx-",
    "kaggle-key": "KGAT_",
    "dbt-token": "dbtc_ dbtu_",
    "model-key": "sk-helicone- sk-or-v1- sk_car_ esecret_ e2b_ dtn_ bb_live_ bb_pr_ bb_ma_ mxb_ bt-st- hxtp_ apk_user_",
    "bedrock-key": "bedrock-api-key-",
    "vercel-token": "vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_",
    "openshift-token": "sha256~",
    "cloudflare-token": "cfut_ cfat_ cfk_",
    "digitalocean-token": "dop_v1_ doo_v1_ dor_v1_",
    "heroku-key": "HRKU-AA",
    "doppler-token": "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
    "fly-token": "fo1_",
    "postman-key": "PMAK-",
    "onepassword-token": "ops_eyJ",
    "hosting-token": "ucat_ apify_api_ salad_cloud_ tk-us- zpka_ unkey_ SWMTKN-1- SWMKEY-1-",
    "vault-token": "hvs. hvb. hvr.",
    "planetscale-token": "pscale_tkn_ pscale_pw_ pscale_oauth_",
    "supabase-key": "sb_secret_",
    "mongodb-key": "mdb_sa_sk_",
    "database-key": "npg_ xau_ CCDB1_ essu_",
    "prefect-key": "pnu_ pnb_",
    "pulumi-token": "pul-",
    "tailscale-key": "tskey-",
    "grafana-token": "glsa_",
    "sentry-token": "sntrys_ sntryu_",
    "newrelic-key": "NRAK- NRAA- NRJS- NRII- NRBR- NRIQ-",
    "honeycomb-key": "hcaik_ hcxik_ hcbik_ hcmik_ hcalk_ hcxlk_ hcblk_ hcmlk_",
    "dynatrace-token": "dt0c01. dt0s01. dt0s16.",
    "telemetry-key": "xaat- xapt- logfire_v1_ rootly_ rdme_",
    "stripe-key": "sk_live_ rk_live_ sk_test_ rk_test_ whsec_",
    "shopify-token": "shpat_ shpca_ shppa_ shpss_ shltm_",
    "brevo-key": "xkeysib- xsmtpsib-",
    "linear-key": "lin_api_ lin_oauth_ lin_wh_",
    "notion-token": "ntn_",
    "figma-token": "figd_ figo_ figu_ figor_ figur_ figp_",
    "hubspot-token": "pat-na1- pat-na2- pat-eu1-",
    "mail-key": "mlsn. os_v2_app_ os_v2_org_",
    "payment-key": "rzp_live_ rzp_test_ FLWSECK- FLWSECK_TEST- chk_live_ pk_live_ duffel_live_ duffel_test_ bxt_ ramp_sec_ shippo_live_ shippo_test_ pdl_live_apikey_ pdl_sdbx_apikey_ mercury_production_ flb_live_ aact_prod_ access-production- access-sandbox-",
    "document-token": "CFPAT- polar_oat_ polar_at_ polar_pat_ waka_ fio-u- samsara_api_ rh-api- u-s4t2ud- s-s4t2ud- u-s4t2af- s-s4t2af- VF.DM. VF.WS. sub-c-",
}

SHORT_KEYS = {
    "database-key": "napi_",
    "huggingface-token": "hf_",
    "openai-key": "sk-",
    "replicate-token": "r8_",
    "fireworks-key": "fw_",
    "voyage-key": "pa- al-",
    "modal-key": "ak- as-",
    "elevenlabs-key": "sk_",
    "bedrock-key": "ABSK",
    "airtable-token": "pat",
    "bitbucket-token": "ATATT3x ATCTT3x ATBB",
    "google-key": "AIza ya29.",
    "supabase-key": "sbp_",
    "notion-token": "secret_",
    "alibaba-key-id": "LTAI",
    "npm-token": "npm_ cio oy2",
    "pypi-token": "pypi-",
    "xai-key": "xai-",
    "runpod-key": "rpa_",
    "jina-key": "jina_",
    "grafana-token": "glc_",
    "posthog-key": "phx_ phc_ phs_",
    "netlify-token": "nfp_ nfc_ nfo_ nfb_ nfu_",
    "hosting-token": "rnd_ ddp_ ddw_ fastly_",
    "document-token": "tfp_ pina_",
    "model-key": "flp_ cog_",
    "telemetry-key": "aio_",
    "api-key": "ck- nk- pb_ rf_ API- live_ re_ pk_ api- EXO fnA 4b1d EZAK EZTK EAA IGQV sl. 5AEP861 xoxd- cnvca",
    "package-token": "ion_ csa_ ico- lip_ NF-",
}

# What may stand before a key: no letter, or one of an escape.
_START = r"(?:^|[^A-Za-z0-9]|[0-9;\[][A-Za-z]|\\[abefnrtv]|%[0-9A-F]{2}|\\u00[0-9a-f]{2})"
_GAP = r"(?:\s|\\{1,4}(?:[nrt]|x0[9ad])){1,8}"  # between the words of a .netrc, also escaped


def _rule(id_: str, regex: str, keywords: str = "", entropy: float = 0.0) -> Rule:
    return Rule(id=id_, regex=regex, keywords=tuple(filter(None, keywords.split("|"))), entropy=entropy)


RULES = (
    # Keys of Azure that carry the signature of their service within.
    _rule(
        "azure-key",
        r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{18,40}|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}|[A-Za-z0-9+/]{33,76}\+A(?:St|Sb|Eh|Ba|CR|MC)[A-Za-z0-9+/]{5,7}={1,2}",
        "jqqj99|azdo|+ast|+asb|+aeh|+aba|+acr|+amc",
    ),
    # Keys of several parts: Salesforce, Zoho, Mapbox, PayPal, DataStax, Endor, New Relic.
    _rule(
        "api-key",
        _START
        + r"(00D[A-Za-z0-9]{12,15}!A[QR][A-Za-z0-9_.]{40,}|1000(?:\.[a-f0-9]{32}){2}|[st]k\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,}|access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}|AstraCS:[A-Za-z0-9]{16,}:[a-f0-9]{40,}|endr\+[A-Za-z0-9-]{16,}|secret-token:[A-Za-z0-9_.~%-]{12,}|[a-f0-9]{32,36}(?:FFFFNRAL|-NRMA))",
        "!aq|!ar|1000.|k.eyj|access_token$|astracs:|endr+|secret-token:|ffffnral|-nrma",
    ),
    # The signature of a link or a request, which stands for the key: X-Amz-Signature, X-Goog-Signature, sig.
    _rule(
        "signature",
        r"""(?i)(?:x-[a-z0-9]{2,12}-signature["']?\s{0,4}(?:=|%3D|:)|[?&;]sig(?:nature)?=|credential=\S{1,256},\s?signature=)\s{0,4}["']?([A-Za-z0-9%+/=_-]{16,})""",
        "sig=|signature",
    ),
    # The secret numbers of a JSON web key.
    _rule(
        "private-key",
        r"""\\{0,7}["'](?:d|p|q|dp|dq|qi|k)\\{0,7}["']\s{0,4}:\s{0,4}\\{0,7}["']([A-Za-z0-9_-]{42,})""",
        '"d"|\'d\'|"p"|\'p\'|"q"|\'q\'|"dp"|\'dp\'|"dq"|\'dq\'|"qi"|\'qi\'|"k"|\'k\'|\\"d\\|\\"k\\|\\"p\\|\\"q\\',
        entropy=4.2,
    ),
    # A password in a .pgpass: host, port, database, user, password.
    _rule(
        "password",
        r"""(?:^|[\s"'+>=@])(?:[\w.-]+|\*|/[\w./-]+):(?:543[2-5]|6432|\*):(?:[A-Za-z_][\w.-]*|\*):(?:[A-Za-z_][\w.@-]*|\*):((?:[^\s\\"':]|\\[\\:])+)""",
        ":5432:|:5433:|:5434:|:5435:|:6432:|:*:",
    ),
    # A private key on one line: PEM with escaped newlines, or several fields of JSON.
    _rule(
        "private-key",
        r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-{4,5}.*?-{4,5} ?END [A-Z0-9 ]{0,40}-{4,5}",
        "private key",
    ),
    # A key file of PuTTY on one line, up to its checksum.
    _rule(
        "private-key", r"PuTTY-User-Key-File-[0-9]:?(?:.*?Private-(?:MAC|Hash): ?[0-9a-f]*|.*)", "putty-user-key-file"
    ),
    # The secret key of age, which decrypts files.
    _rule("age-key", r"(?i)AGE-SECRET-KEY-(?:PQ-)?1[02-9AC-HJ-NP-Z]{20,}", "age-secret-key-"),
    # A token in an .npmrc.
    _rule(
        "npm-token", r'//.+/:_(?:authToken|auth|password)\s*=\s*"?(npm_\S+|[A-Za-z0-9_+/=-]{8,})', ":_auth|:_password"
    ),
    # API keys and reference tokens of JFrog.
    _rule(
        "jfrog-token",
        r"""(?:^|[\s=:"'])(AKC[A-Za-z0-9]{10,})(?:[\s"',;]|$)|AKCp[A-Za-z0-9]{60,}|cmVmdGtu[A-Za-z0-9]{40,}""",
        "akc|cmvmdgtu",
    ),
    # API keys of OpenAI, by what stands in their middle.
    _rule("openai-key", r"sk-[A-Za-z0-9_-]*[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20,}", "t3blbkfj"),
    # Keys behind a short prefix, or a word.
    _rule("openai-key", _START + r"(sk[-_][a-f0-9]{32,64})", "sk-|sk_"),
    _rule("databricks-token", _START + r"(dapi[a-f0-9]{32})", "dapi"),
    _rule("api-key", _START + r"(token-[a-z0-9]{5}:[a-z0-9]{54})", "token-"),
    # A key that is given to `wandb login`.
    _rule("api-key", r"wandb login\s+(?:--\S{1,64}\s+){0,4}([A-Za-z0-9_-]{32,})", "wandb login"),
    # Access key IDs of AWS, long-lived and temporary.
    _rule(
        "aws-key-id",
        r"(?:AKIA|ASIA|ABIA|A3T[A-Z0-9])[A-Z0-9]{16,}|ACCA(?:[A-F0-9]{0,7}[G-Z][A-Z0-9]{8,}|[A-F0-9]{8,15}[G-Z][A-Z0-9]*)",
        "akia|asia|abia|acca|a3t",
    ),
    # A secret access key of AWS beside a word that says so.
    _rule(
        "aws-secret-key",
        r"""(?i)aws.{0,20}?(?:key|pwd|pw|password|pass|token).{0,20}?["']([0-9a-zA-Z/+]{40})\\{0,7}["']""",
        "aws",
    ),
    # Authorisation keys and refresh tokens of Google.
    _rule(
        "google-key", _START + r"(AQ\.Ab[A-Za-z0-9_-]{20,}|AQ\.[A-Za-z0-9_-]{30,}|1//0[A-Za-z0-9_-]{30,})", "aq.|1//0"
    ),
    # Keys in a connection string of Azure.
    _rule(
        "azure-key",
        r"(?:AccountKey|SharedAccessKey|SharedAccessSignature)=([A-Za-z0-9+/=%&_.-]{16,})",
        "accountkey=|sharedaccesskey=|sharedaccesssignature=",
    ),
    # Client secrets of Microsoft Entra applications.
    _rule("azure-secret", _START + r"([A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})", "q~"),
    # Tokens of Terraform Cloud.
    _rule("terraform-token", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}", ".atlasv1."),
    # Tokens of Fly.io.
    _rule("fly-token", _START + r"(fm[12][ar]?_[A-Za-z0-9+/]{60,}={0,3})", "fm1|fm2_"),
    # A key of SoftLayer in the address of its interface.
    _rule("softlayer-key", r"(?i)https?://api\.softlayer\.com/soap/v3(?:\.1)?/([a-z0-9]{64})", "softlayer"),
    # Tokens of Slack: bots, users, apps, configuration, legacy.
    _rule(
        "slack-token",
        r"(?i)xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,}|xox[a-z]-(?:[0-9]+-)+[A-Za-z0-9]+|xapp-[A-Za-z0-9-]{8,}",
        "xox|xapp-",
    ),
    # Addresses that post to a channel of Slack.
    _rule(
        "slack-webhook", r"(?i)hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{4,}", "hooks.slack.com/"
    ),
    # Tokens of Discord's bots.
    _rule("discord-token", r"[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}", entropy=4.7),
    # Addresses that post to a channel of Discord.
    _rule("discord-webhook", r"(?i)discord(?:app)?\.com/api/webhooks/[0-9]{5,}/[A-Za-z0-9_-]{16,}", "/api/webhooks/"),
    # Addresses that post to a channel of Microsoft Teams.
    _rule("teams-webhook", r"(?i)[a-z0-9-]+\.webhook\.office\.com/webhookb2/[a-z0-9@/-]{16,}", ".webhook.office.com/"),
    # Tokens of Telegram's bots.
    _rule("telegram-token", r"[0-9]{8,10}:AA[0-9A-Za-z_-]{33}", ":aa"),
    # The same, of any beginning: seconds and a name look alike.
    _rule("telegram-token", r"[0-9]{8,10}:([0-9A-Za-z_-]{35})", entropy=4.2),
    # API keys and account IDs of Twilio.
    _rule("twilio-key", _START + r"((?:SK|AC)[a-z0-9]{32})(?:[^A-Za-z0-9]|$)"),
    # API keys of SendGrid.
    _rule("sendgrid-key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", "sg."),
    # API keys of Mailchimp.
    _rule("mailchimp-key", _START + r"([0-9a-z]{32}-us[0-9]{1,2})", "-us"),
    # Keys of a certificate authority of Cloudflare; other versions begin so, too.
    _rule("cloudflare-token", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}", "v1.0-"),
    # Tokens and secrets of Square.
    _rule("square-token", r"sq0(?:csp|atp)-[0-9A-Za-z\\_-]{20,43}", "sq0csp-|sq0atp-"),
    # Service account tokens of 1Password, and its secret keys.
    _rule("onepassword-token", _START + r"(A3-[A-Z0-9]{6}-[A-Z0-9]{5,6}(?:-[A-Z0-9]{5,6}){3,5})", "a3-"),
    # JSON web tokens, signed or encrypted.
    _rule("jwt", _START + r"(eyJ[A-Za-z0-9_=-]{8,}(?:\.[A-Za-z0-9_=-]*){1,4})", "eyj"),
    # A header Authorization with its scheme.
    _rule(
        "auth",
        r"""(?i)authorization[\\"']{0,4}\s*[:=]\s*[\\"']{0,4}(?:bearer|basic|token|negotiate|apikey|bot|digest)\s+([^\s"',;\\\x1b]+)""",
        "authorization",
    ),
    # A header Authorization without a scheme.
    _rule(
        "auth",
        r"""(?i)authorization[\\"']{0,4}\s*[:=]\s*[\\"']{0,4}([^\s"',;\\\x1b]{0,64}[0-9][^\s"',;\\\x1b]{15,}|[^\s"',;\\\x1b]{15,64}[0-9][^\s"',;\\\x1b]*)""",
        "authorization",
    ),
    # A bearer token without its header.
    _rule(
        "auth",
        r"(?i)"
        + _START
        + r"bearer\s+([A-Za-z0-9._~+/=-]{0,64}[0-9][A-Za-z0-9._~+/=-]{15,}|[A-Za-z0-9._~+/=-]{15,64}[0-9][A-Za-z0-9._~+/=-]*)",
        "bearer",
    ),
    # The headers Cookie and Set-Cookie, with all they hold.
    _rule(
        "cookie",
        r"""(?i)(?:^|[^A-Za-z0-9_-])(?:set-)?cookie[\\"']{0,4}\s*[:=]\s*[\\"']{0,4}([A-Za-z0-9_.!#$%&*+^|~-]{1,128}=(?:[^\s"'\\\x1b]{4,}(?:;\s?[^\s"'\\\x1b]+)*|[^\s"'\\\x1b]*(?:;\s?[^\s"'\\\x1b]+)+))""",
        "cookie",
    ),
    # A machine's password in a .netrc.
    _rule(
        "password",
        r"(?i)(?:^|[^A-Za-z0-9]|[0-9;\[][A-Za-z]|\\[abefnrtv]|\\x0[9ad]|%[0-9A-F]{2}|\\u00[0-9a-f]{2})login"
        + _GAP
        + r"\S{1,256}?"
        + _GAP
        + r"(?:account"
        + _GAP
        + r"\S{1,256}?"
        + _GAP
        + r")?password"
        + _GAP
        + r"((?:[^\s\\]|\\[^nrtx\s])+)",
        "login",
    ),
    # A password on a line of its own in a .netrc of several lines.
    _rule("password", r"(?i)^(?:\([^()]{1,64}\)|[+|>#\s-])+password\s+(\S+)\s*$", "password"),
    # The same at the margin: a word with a digit or a sign in it.
    _rule("password", r"(?i)^password\s+(\S*[0-9!@#$%^&*+=_-]\S*)\s*$", "password"),
    # A password in a connection string: Pwd=X. The working folder has the same name.
    _rule("password", r"""(?i)(?:^|[^a-z0-9_])pwd\s{0,4}=\s{0,4}["']?([^\s;"'`/~$.<\[\\][^\s;"'`\\]{3,})""", "pwd"),
    # User and password that curl is given.
    _rule(
        "password",
        r"""curl\s(?:[^|&;]*?\s)??(?:-[A-Za-z]{0,8}[uU]|--user|--proxy-user)(?:\s*|=)["']?[^\s:"'/$]{0,64}:([^\s"'`$<][^\s"'`]*)""",
        "curl",
    ),
    # A password that a registry's login is given.
    _rule(
        "password",
        r"""(?:docker|podman|helm|nerdctl|skopeo|oras|az|cf)\s(?:[^|&;]*?\s)??login\s(?:[^|&;]*?\s)??-p\s*["']?([^\s"'`$<-][^\s"'`]*)""",
        "login",
    ),
    # A password that a database's client is given: -pX, as one word.
    _rule(
        "password",
        r"""(?:mysql|mysqldump|mysqladmin|mariadb)\s(?:[^|&;]*?\s)??-p["']?([^\s"'`$<=-][^\s"'`]*)""",
        "mysql|mariadb",
    ),
    # A machine's password in a .netrc without a login.
    _rule(
        "password", r"""(?i)(?:machine\s+\S{1,256}|account\s+\S{1,256})\s+password\s+([^\s"'\\]+)""", "machine|account"
    ),
    # A key under a label of prose: `API key: X`, `Secret Access Key: X`.
    _rule(
        "api-key",
        r"""(?i)\b(?:api|secret|private|client|access|service)(?: access)? (?:key|token|secret|password)["'*_`]{0,3}\s{0,4}[:=]\s{0,4}["'*_`]{0,3}([A-Za-z0-9][^\s"'`,;]*[0-9][^\s"'`,;]*)""",
        "api key|secret key|access key|private key|api token|access token|client secret|service key|service token|api secret|secret token|api password|secret access key",
        entropy=3.0,
    ),
    # A password that sshpass is given.
    _rule("password", r"""sshpass\s(?:.*?\s)??-p\s*["']?([^\s"'`$<][^\s"'`]*)""", "sshpass"),
    # A password that a sentence names: `password is: X`.
    _rule(
        "password",
        r"""(?i)\b(?:password|passwd|passphrase|passwort|contrase(?:n|ñ)a|secret|api[ _-]?key|access[ _-]?key)s?\s{1,4}(?:is|was|set to|changed to)(?:\s{0,4}:\s{0,4}|\s{1,4})["'`]?([^\s"'`]*[0-9!@#$%^&*+=][^\s"'`]*[^\s"'`.,;:)])""",
        "password|passwd|passphrase|passwort|contrase|secret|api key|api_key|api-key|apikey|access key|access_key|access-key|accesskey",
    ),
    # A password under its Spanish name, in quotes.
    _rule(
        "password", r"""(?i)contraseña\w*["'\]]{0,2}\s*(?:=>|:=|!?={1,3}|:)?\s*@?\(?["'`]([^"'`]+)["'`]""", "contraseña"
    ),
    # The same without quotes.
    _rule("password", r"""(?i)contraseña\w*["'\]]{0,2}\s*(?:=>|:=|!?={1,3}|:)\s*@?([^\s"'`,;]+)""", "contraseña"),
    # The same, compared with a value before it.
    _rule("password", r"""(?i)["'`]([^"'`]+)["'`]\s*[!=]={1,2}\s*\w*contraseña""", "contraseña"),
)
