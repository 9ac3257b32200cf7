"""No secret survives, in whatever form it is written; what a diagnosis reads stays as it is; the time is linear."""

from __future__ import annotations

import random

import pytest

from envkit.privacy import secrets
from envkit.privacy.masker import Masker
from envkit.privacy.secrets import without_secrets
from envkit.privacy.tokens import prefixes
from tests.processor_time import seconds
from tests.redact.corpus import leaking_secrets, rows

WORD = "S3cr3tXyzzy"
FORMS = {
    "github app token": f"ghs_{WORD}abcdefghijk",
    "github user token": f"remote: ghu_{WORD}abcdefghijk is bad",
    "github token": f"ghp_{WORD}abcdefghijk",
    "github fine token": f"github_pat_{WORD}abcdefghijk",
    "gitlab": f"glpat-{WORD}abcdefghijk",
    "hugging face": f"hf_{WORD}abcdefghijk",
    "openai": f"sk-{WORD}abcdefghijk",
    "openai project": f"sk-proj-{WORD}abcdefghijk",
    "aws temporary key": f"ASIA{WORD.upper()}ABCDEF",
    "aws key": f"AKIA{WORD.upper()}ABCDEF",
    "slack refresh": f"xoxe-1-{WORD}abcd",
    "slack bot": f"xoxb-{WORD}abcd",
    "google": f"AIza{WORD}abcdefgh",
    "npm": f"npm_{WORD}abcdefgh",
    "pypi": f"pypi-AgEI{WORD}xyz",
    "nvidia": f"nvapi-{WORD}abcdefg",
    "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJ{WORD}.{WORD}",
    "telegram": f"12345678:AA{WORD}{WORD}{WORD}",
    "bearer": f"Bearer {WORD}",
    "bearer header": f"Authorization: Bearer {WORD}",
    "basic header": f"Authorization: Basic {WORD}==",
    "basic": f"Basic {WORD}zQ==",
    "api key header": f"X-Api-Key: {WORD}",
    "cookie": f"Cookie: a=1; session={WORD}",
    "json": f'{{"token": "{WORD} with space"}}',
    "json in json": f'\\"token\\": \\"{WORD}\\"',
    "docker config": f'"auth": "{WORD}"',
    "quoted": f'TOKEN="{WORD}"',
    "single quoted": f"TOKEN='{WORD}'",
    "yaml": f"password: {WORD}",
    "python dict": f"{{'api_key': '{WORD}'}}",
    "hash rocket": f"db_password => '{WORD}'",
    "assigned": f"secret_key := {WORD}",
    "environment": f"AWS_SECRET_ACCESS_KEY={WORD}",
    "terraform": f"TF_VAR_db_pw={WORD}",
    "license": f"NVIDIA_LICENSE={WORD}",
    "some key": f"WANDB_KEY={WORD}",
    "database": f"PGPASSWORD={WORD} psql",
    "mysql": f"MYSQL_PWD={WORD}",
    "option": f"wget --password {WORD}",
    "option with equals": f"--password={WORD}",
    "option quoted": f"--token '{WORD} a'",
    "http option": f"wget --http-password {WORD}",
    "curl user": f"curl -u alice:{WORD} x",
    "curl long user": f"curl --user alice:{WORD} x",
    "curl user named as a scheme": f"curl -u https:{WORD} x",
    "curl user, and a password with slashes": f"curl -u git://{WORD} x",
    "pip, upgraded from a login": f'pip install -U "git+https://bob:{WORD}@github.com/a/b"',
    "pip, upgraded with a token": f"pip install --user name@git+https://{WORD}@github.com/a/b",
    "pip, an index with a login": f"pip install -U -i https://bob:{WORD}@pypi.corp/simple x",
    "pip, a name like the public one": f"pip install -U git+ssh://git:{WORD}@github.com/a/b",
    "docker login": f"docker login -u bob -p {WORD} reg",
    "sshpass": f"sshpass -p {WORD} ssh x",
    "login without scheme": f"alice:{WORD}@db.corp",
    "url login": f"https://alice:{WORD}@h/x",
    "url login with a slash": f"https://alice:a/{WORD}@host/x",
    "url token alone": f"https://{WORD}@github.com/x",
    "redis": f"redis://:{WORD}@cache:6379/0",
    "mongodb": f"mongodb+srv://u:{WORD}@c.mongodb.net/?w=1",
    "url query": f"https://x.blob.core.windows.net/c/f?sv=1&sig={WORD}%3D",
    "presigned": f"https://b.s3.amazonaws.com/k?X-Amz-Signature={WORD}",
    "url path": f"https://pypi.corp/{WORD}abc123/simple",
    "webhook": f"https://hooks.slack.com/services/T00/B00/{WORD}abcdefgh1234",
    "iscsi": f"netroot=iscsi:bob:{WORD}@10.0.0.1::3260:iqn",
    "iscsi on the kernel command line": f"rd.iscsi.in.password={WORD}",
    "key of a disk, dracut": f"rd.luks.key={WORD}:UUID=1",
    "key of a disk, systemd": f"luks.key=6c3a1f0e={WORD}",
    "key of a disk, Arch": f"cryptkey=/dev/sda:0:{WORD}",
    "key of a disk, Debian": f"cryptopts=target=x,source=/dev/sda,key={WORD}",
    "file of a key": f"rd.tang.keyfile={WORD}",
    "pool": f"zfskey={WORD}",
    "installer": f"rootpw={WORD}",
    "installer's ssh": f"inst.sshpw={WORD}",
    "installer's network": f"netcfg/wireless_wep={WORD}",
    "rsa key": f"-----BEGIN RSA PRIVATE KEY-----\n{WORD}\n-----END RSA PRIVATE KEY-----",
    "key without end": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{WORD}\nmore",
    "kubeconfig": f"client-key-data: {WORD}",
    "azure storage": f"AccountName=x;AccountKey={WORD};Suffix=y",
    "netrc": f"machine h login bob password {WORD}",
    "stated": f"passphrase is '{WORD}'",
    "query without url": f"token={WORD}&x=1",
}
HARMLESS = [
    "libcudnn.so.8.9.7.29",
    "tokenizers 0.19.1",
    "max_tokens: 4096",
    "docker pull nvidia/cuda:12.4@sha256:abcdef0123456789abcdef",
    "git+https://github.com/org/repo.git@0123456789012345678901234567890123456789",
    "https://github.com/pytorch/pytorch/issues/123",
    "docker run -u 1000:1000 x",
    'pip3 install -U "git+git://github.com/org/repo.git"',
    "pip install --user git+https://github.com/org/repo.git@v1#egg=repo",
    "pip install -U 'repo[all]@git+https://github.com/org/repo'",
    "pip install -U git+ssh://git@github.com/org/repo",
    "pip install --user https://download.pytorch.org/whl/cu118/torch-2.0.0-cp310-cp310-linux_x86_64.whl",
    "pip install -U -i https://pypi.org/simple x",
    "Basic Linear Algebra, basic operations",
    "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2204/x86_64/cuda-keyring_1.1-1_all.deb",
    "pip3 install torch --index-url https://download.pytorch.org/whl/cu121",
    "NVRM: Xid (PCI:0000:65:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "user@host:~$ nvidia-smi",
    "the author: bob; keys: a b; authentication failed; pin_memory=True",
    'File "/x/y.py", line 3, in <module>',
    "E: The repository is not signed. NO_PUBKEY A4B469963BF863CC",
    "module verification failed: signature and/or required key missing",
    "Key was rejected by service",
    "PASSED [ 10%]",
    "signature: sig_id PKCS#7",
    "https://docs.example.com/webhooks/intro",
    "https://pytorch.org/docs/stable/generated/torch.nn.Module.register_forward_hook.html",
]
FLOODS = [  # a part that comes again and again, and an end
    ("token", ""),
    ("a:b@", ""),
    ("://", ""),
    ("sk-", ""),
    ("=\"'", ""),
    ("-----BEGIN PRIVATE KEY-----", ""),
    ("login -p ", ""),
    ("a:", "@"),
    ("A", " basic ="),
    ("eyJ.", ""),
    ("x-", "token"),
    ("--", "pass"),
    ("a/", ".py"),
    ("a.", "com"),
    ("0a", ""),
    ("1.", ""),
    ("[a@b:", "$ "),
    ("A_", "USER=x"),
    ("\\", ""),
    ("token=", ""),
    ("token: ", ""),
    ("password:\n - a", ""),
    ("TOKEN |", ""),
    ('a_key", "value": ', ""),
    ("hf_", "A"),
    ("MII", ""),
    ("mysql -p", ""),
    ("echo a | ", ""),
    ('"value": "a", ', '"name": "TOKEN"'),
    ("aB1", ""),
    ("kind: Secret\ndata:\n a: b\n", ""),
    ("login -u a ", ""),
    ("login r ", "-p"),
    ("kv put a b=", ""),
    ('login("', ""),
    ('login("a", ', ")"),
    ('send "a', ""),
    ("[a] b:", ""),
    ("a * b ", ""),
    ("user a on b ", ">"),
    ("HF_TOKEN,", ""),
    ("HF_TOKEN\t", ""),
    ("--src-creds a:", ""),
    ("keytool -keypass a ", ""),
    ("secret set a ", "-b"),
    ("passwd <<< ", ""),
    ("echo a | sudo ", ""),
    ("\u200b", "TOKEN=x"),
    ("token: a[", " = 'x'"),
    ("password { ", ""),
    ("password</a> ", ""),
    ("https://a/hooks/", ""),
    ("value: a name: ", "TOKEN"),
    ("sbatch -A", ""),
    ("gcloud a ", "--project x"),
    ("12 gpu a b ", "R 1:00 1 n"),
    ("kubectl a ", "drain x"),
    ("ou=a,dc=", ""),
    ("a up b 1 ", ""),
    ("squeue a ", "-u x"),
    ("ocid1.a.", ""),
    ("lat=1.00 lon", ""),
    (" a:b(1M)", ""),
    ("ssh -a ", ""),
    ("-U a@git+https://a", ""),
    ("-U a[a]@", ":b"),
    ("a:/b ", ""),
    ("ok: [a", ""),
    ("HF_TOKEN=\\\n", ""),
    ("a \\\n", "TOKEN=x"),
    ("***\nq7Vd2XkRb9ZmT4wY", "-"),
    ("***\nq7Vd2XkRb9ZmT4wY\n", ""),
    ("> token:\n", ""),
    ("> ", "token:\n> x1x1x1x1"),
    ("token\n\n", ""),
    ("$ cat token\n", "x1x1x1x1"),
    ("$ gh auth token ", "\nx"),
    ("name: HF_TOKEN\na: b\n", "value: x"),
    ("value: a\n", "name: HF_TOKEN"),
    ('"TOKEN", a, ', 'default="x"'),
    ('TOKEN = "a"\n  "b"\n  ', '"c"'),
    ('"a" + ', '"b"'),
    ('"a" == ', "token"),
    ("echo a ", "| passwd"),
    ("yes | ", "passwd"),
    ("machine a login b ", "password c"),
    ("machine\n", "password c"),
    ("user = a\nb = c\n", "pass = d"),
    ('"kind":"Secret","data":{"a":"', '"}'),
    ("TRUE\ta\t", "TRUE\t1\ta\tb"),
    ("superusers=a\n", "password a b"),
    ("USER a\n", "PASS b"),
    ("a%3A", "%40b"),
    ("QUJD", "="),
    ("\u0430a", "=x"),
    ("\uff21", "=x"),
    ("&#97;", "=x"),
    ("USER PID\na b\n", ""),
    ("A ", "\na b"),
    ("CN=a,", ""),
    ("1.2.", "in-addr.arpa"),
    ("gke-a-", "1234"),
    ("\\\\a ", ""),
]
_ENOUGH, _FAST_S = 20_000, 0.15


@pytest.mark.parametrize("form", FORMS)
def test_no_secret_survives(form: str) -> None:
    assert WORD.lower() not in without_secrets(FORMS[form]).lower()
    assert WORD.lower() not in without_secrets(f"x y {FORMS[form]} z\nnext line").lower()


def test_no_secret_of_the_corpus_survives() -> None:
    assert leaking_secrets() == []


def test_no_innocent_line_of_the_corpus_holds_a_secret() -> None:
    lines = [row.line for row in rows("innocent")]
    assert [line for line in lines if without_secrets(line) != line] == []


def test_nothing_more_of_the_corpus_is_hidden_the_second_time() -> None:
    once = [without_secrets(row.line) for row in rows("secrets")]
    assert [line for line in once if without_secrets(line) != line] == []


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert without_secrets(text) == text


@pytest.mark.parametrize("form", FORMS)
def test_nothing_more_is_hidden_the_second_time(form: str) -> None:
    once = without_secrets(FORMS[form])
    assert without_secrets(once) == once


@pytest.mark.parametrize(("part", "end"), FLOODS)
def test_a_flood_takes_time_that_grows_with_it_alone(part: str, end: str) -> None:
    """What takes longer than a moment must at least not take four times as long for twice the text."""
    taken = _seconds(part, end, _ENOUGH)
    assert taken < _FAST_S or _seconds(part, end, 2 * _ENOUGH) < 3.2 * taken


def _seconds(part: str, end: str, length: int) -> float:
    masker, text = Masker(), part * (length // len(part)) + end
    return seconds(lambda: masker.text(text))


def test_a_short_name_is_too_short_for_a_secret_of_any_form() -> None:
    """What is not looked at in detail is what the detailed look leaves as it is."""
    source = random.Random(12)
    letters = "abcxyzABCXYZ0189._-"
    starts = ["", "hf_", "sk-", "ghp_", "AKIA", "eyJ", "SG.", "pass", "token-", "key.", "pwd_"]
    for _ in range(4000):
        text = (source.choice(starts) + "".join(source.choices(letters, k=12)))[: source.randint(1, 12)]
        assert secrets._of_any(text) == text
    assert min(len(row.prefix) + row.least for row in prefixes()) > secrets._NAME
