"""Shapes of keys that services issue, each as a template that is filled with made-up letters.

`{a22}` stands for 22 letters and digits, `{h}` for hexadecimal digits, `{l}` for small letters and digits, `{u}` for
capital letters and digits, `{w}` for letters of URL-safe base64, `{b}` for letters of base64, `{d}` for digits, `{uuid}`
for a UUID. A `|` breaks a prefix, so that a scanner of this file finds nothing.
"""

# ruff: noqa: E501, SIM905

from __future__ import annotations

import re
import string

from tests.contract.text.redaction.kinds_support import ALNUM, BASE64, HEX, LOWER, UPPER, URL, Maker

# Models, experiments, clouds for training: what a run of a benchmark may print.
_MODELS = """
pc|sk_{a6}_{a63}  ls|v2_pt_{h32}_{h10}  ls|v2_sk_{h32}_{h10}  ls|__{h32}  sk|-lf-{uuid}  rp|a_{u40}{l6}  cs|k-{l48}
tg|p_v1_{w43}  pa|-{w43}  tv|ly-{a32}  tv|ly-dev-{a32}  sk|_{h48}  ak|-{a22}  as|-{a22}  ji|na_{h32}{w28}  ll|x-{a48}
e2|b_{h40}  dt|n_{h64}  bb|_live_{w27}  sk|-helicone-{l7}-{l7}-{l7}-{l7}  es|ecret_{l26}  fl|p_{a46}
pb|_{w22}  KG|AT_{h32}  sk|_car_{w22}  ck|-{a44}  nk|-{w43}  mx|b_{a40}
sk|-or-v1-{h64}  sk|-admin-{w74}T3Blbk|FJ{w74}  AB|SK{b120}  bedrock|-api-key-{b120}
rf|_{a20}  cog|_{l52}  apk|_user_{a140}  sk|-api-{w119}  sk|-cp-{w40}  yd|c-sk-{a54}
""".split()
# Hosting, databases, observability.
_HOSTS = """
vc|p_{w56}  vc|i_{w56}  vc|a_{w56}  vc|r_{w56}  vc|k_{w56}  vercel|_blob_rw_{a16}_{a30}  nf|p_{a36}  nf|c_{a36}
rn|d_{a28}  HR|KU-AA{w58}  dd|p_{a36}  dd|w_{a36}  dp|.pt.{a43}  dp|.st.prd.{a43}  dp|.ct.{a40}  dp|.sa.{a43}  cf|ut_{a40}{h8}
cf|k_{a40}{h8}  cf|at_{a40}{h8}  v1|.0-{h24}-{h146}  uc|at_{a28}  EX|O{a27}  sha|256~{w43}  SWM|TKN-1-{l50}-{l25}
SWM|KEY-1-{b43}  na|pi_{a64}  np|g_{a12}  xa|u_{a40}  CC|DB1_{a22}_{a40}  mdb|_sa_sk_{w40}  As|traCS:{a24}:{h64}  fn|A{w37}
4b|1d{a38}  es|su_{w80}  dt|0c01.{u24}.{u64}  hc|aik_{l58}  hc|mik_{l58}  xa|at-{uuid}  xa|pt-{uuid}  gl|sa_{a32}_{h8}
lo|gfire_v1_us_{a43}  NR|BR-{h19}  NR|IQ-{w32}  {h32}FF|FFNRAL  ph|x_{a43}  ph|c_{a43}  ph|s_{a43}
db|tc_{w36}  db|tu_{w36}  hx|tp_{h64}  ro|otly_{h64}  aio|_{a28}  rd|me_{l70}  sb|_secret_{w31}  salad|_cloud_user_{a60}
api|fy_api_{a36}  {a52}JQ|QJ99{a24}  {a76}AZ|DO{a4}  {b76}+A|St{a6}==  tk|-us-{w48}  zp|ka_{l32}_{h8}  un|key_{a22}
""".split()
# Repositories, packages, continuous integration.
_CODE = """
rubygems|_{h48}  pat|{a14}.{h64}  cio|{a32}  oy|2{l43}  CLO|JARS_{l60}  cs|a_{h30}{a6}  sg|p_{h16}_{h40}  sg|p_{h40}
sl|k_{h64}  CC|IPAT_{a22}_{h40}  CC|IPRJ_{a22}_{h40}  bk|ua_{l40}  bk|ps_{w64}  API|-{u26}  sq|u_{h40}  sq|p_{h40}  sq|a_{h40}
pat|.{w22}.{h24}.{a20}  BB|DC-{b44}  sny|k_uat.{h8}.{w120}  ic|o-{a32}  AIK|_SECRET_{a64}  AIK|_CI_{a32}  ion|_{a42}
sm|_pat_{a16}  mergify|_application_key_{w60}  en|dr+{a16}  bt|-st-{a48}  thog|-secret-{h32}  lip|_{a20}  NF|-{a32}
glffct|-{w20}  gls|oat-{w20}  token|-{l5}:{l54}  secret|-token:{w30}
""".split()
# Messages, payments, forms.
_SERVICES = """
xkey|sib-{h64}-{a16}  xsmtp|sib-{h64}-{a16}  ml|sn.{h64}  re|_{a8}_{a24}  os|_v2_app_{l103}  pat|-na1-{uuid}  pat|-eu1-{uuid}
00D{a12}!|AQ{a94}  5A|EP861{w80}  EAA|AE{w60}  EAA|M{a120}  access|-production-{uuid}  access_|token$production${l16}${h32}
rz|p_live_{a14}  FL|WSECK-{l32}-X  ch|k_live_{a30}  live|_{w40}  EZ|AK{a54}  EZ|TK{a54}  duf|fel_live_{w43}  bx|t_{a44}
ra|mp_sec_{a48}  shippo|_live_{h40}  pdl|_live_apikey_{l26}_{a22}_{a3}  mercury|_production_wma_{a44}_yrucrem  pi|na_{w70}
polar|_oat_{w43}  pk|_{d8}_{u32}  tf|p_{w44}  CFP|AT-{w43}  cn|vca{w51}  sk|.eyJ{w70}.{w22}  sl|.{w130}  IG|QV{w140}
waka|_{uuid}  vt|wn_{w40}  fio|-u-{w64}  dn|key-{u26}-{u52}  1|000.{h32}.{h32}  figp|_{w43}  samsara|_api_{a30}
fast|ly_{w32}  rh|-api-{uuid}  sub|-c-{uuid}  u-s4|t2ud-{h64}  VF|.DM.{h24}.{a16}  flb|_live_{a20}  aact|_prod_{w60}
""".split()
TEMPLATES: tuple[str, ...] = (*_MODELS, *_HOSTS, *_CODE, *_SERVICES)

_LETTERS = {"a": ALNUM, "h": HEX, "l": LOWER, "u": UPPER, "w": URL, "b": BASE64, "d": string.digits}


def made(template: str, seed: str = "") -> str:
    """The template, filled with letters drawn from a seed of it and `seed`."""
    maker = Maker(f"{template} {seed}")

    def drawn(m: re.Match[str]) -> str:
        if m[0] == "{uuid}":
            return "-".join(maker.of(HEX, n) for n in (8, 4, 4, 4, 12))
        letters, length = m[1], int(m[2])
        if letters == "d" or length < 3:
            return "".join(maker.pick(_LETTERS[letters]) for _ in range(length))
        return maker.of(_LETTERS[letters], length)

    return re.sub(r"\{uuid\}|\{([ahluwbd])([0-9]+)\}", drawn, template.replace("|", ""))
