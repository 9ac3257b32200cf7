"""`--os windows`: a script that PowerShell's grammar reads whole and whose values stay values, or the way by WSL 2."""

from __future__ import annotations

import ast
import re

import pytest

from envkit._startup.records import replace
from envkit.base.errors import RequestError
from envkit.base.settings import Mirrors
from envkit.base.versions import Version
from envkit.install.options import ScriptOptions
from envkit.install.plan import script_plan
from envkit.install.windows import check_path, windows_installation
from envkit.render.powershell import array, quoted, render_powershell
from envkit.solver.model import Plan
from envkit.tables.loader import read
from envkit.tables.windows import WindowsInstallerRow, WindowsPartRow, windows_parts
from tests.cli.run import envkit
from tests.install.plans import asked, matrix
from tests.install.powershell import commands, faults, nodes, parsed, text_of, value
from tests.install.test_hostile_values import SIGNS

HERE = ("--os", "windows", "--target", "any")
# What Windows PowerShell 5.1 has, of all that the scripts call; the functions are the scripts' own.
CMDLETS = {
    "Copy-Item", "ConvertFrom-Json", "Get-AuthenticodeSignature", "Get-ChildItem", "Get-Command", "Get-Content",
    "Get-FileHash", "Invoke-WebRequest", "Join-Path", "Move-Item", "New-Item", "New-Object", "Out-Null", "Read-Host",
    "Remove-Item", "Select-Object", "Set-Content", "Set-StrictMode", "Start-Process", "Test-Path", "Where-Object",
}  # fmt: skip
WORDS = [
    ("--framework", "pytorch"),
    ("--framework", "pytorch==2.6", "--cuda", "12.6"),
    ("--framework", "onnxruntime"),
    ("--framework", "tensorflow==2.10"),
    ("--framework", "cupy"),
    ("--cuda", "12.4", "--components", "nvcc,cublas,visual_studio_integration"),
    ("--cuda", "13.0", "--no-accept-eula"),
    ("--cuda", "12.6.3"),
    ("--framework", "pytorch", "--env", r"D:\it's\Ümlaut $(calc) `n env"),
]
HOSTILE = [
    "'; calc; '", "\u2019; calc; \u2019", "\u2018x\u201ay\u201b", "$(calc)", "`calc`", '"; calc; "', "a\nb",
    "a\r\ncalc\r\n", "'@", "#>", "\x00", "\u00e9\U0001f600", "",
]  # fmt: skip


@pytest.fixture(scope="module")
def scripts() -> dict[tuple[str, ...], str]:
    """What `envkit install` prints for each of WORDS."""
    found = {}
    for words in WORDS:
        done = envkit("install", *HERE, *words)
        assert done.returncode == 0, done.stderr
        found[words] = done.stdout
    return found


def rendered(options: ScriptOptions, cuda: str, framework: str | None = None, mirrors: Mirrors | None = None) -> str:
    request = asked(cuda, framework, os_id=None, platform="windows")
    plan = script_plan(request, matrix(), components=options.components)
    assert isinstance(plan, Plan)
    return render_powershell(windows_installation(plan, options, mirrors or Mirrors()), options)


def test_the_grammar_tells_a_fault() -> None:
    assert faults("$x = 'it's'") and faults("if ($x) { 'a'") and not faults("if ($x) { 'a' }")


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_scripts_are_whole_ascii_and_of_the_old_language(
    scripts: dict[tuple[str, ...], str], words: tuple[str, ...]
) -> None:
    text = scripts[words]
    assert faults(text) == [] and text.isascii()
    own = {text_of(node) for node in nodes(parsed(text), "function_name")}
    called = {name for name in commands(text) if not name.startswith(("$", "'"))}
    assert called - own <= CMDLETS, called - own - CMDLETS
    newer = re.compile(r"\?\?|\?\.|\s&&\s|\s\|\|\s|\bclean\s*\{")  # of PowerShell 7
    code = re.sub(r"@'\n.*?\n'@|'[^'\n]*'|^#.*$", "", text, flags=re.M | re.S)
    assert newer.search(code) is None


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_every_function_that_is_called_is_there(scripts: dict[tuple[str, ...], str], words: tuple[str, ...]) -> None:
    text = scripts[words]
    own = {text_of(node) for node in nodes(parsed(text), "function_name")}
    assert own <= {*re.findall(r"[A-Z][a-z]+-[A-Z][A-Za-z0-9]+", re.sub(r"^function .*$", "", text, flags=re.M))}
    used = {*re.findall(r"\$([A-Z]\w+)", re.sub(r"@'\n.*?\n'@|^#.*$", "", text, flags=re.M | re.S))}
    given = {*re.findall(r"\$([A-Z]\w+)(?: =|,|\)|\n)", text)} | {*re.findall(r"\]\$([A-Z]\w+)", text)}
    assert used - given <= {"LASTEXITCODE", "Matches", "ErrorActionPreference"}, used - given


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_the_test_programs_are_python(scripts: dict[tuple[str, ...], str], words: tuple[str, ...]) -> None:
    programs = re.findall(r"^\$Program\d+ = @'\n(.*?)\n'@$", scripts[words], re.M | re.S)
    assert len(programs) == ("--framework" in words)
    for program in programs:
        ast.parse(program)


@pytest.mark.parametrize("text", [*HOSTILE, *(sign.format("/x") for sign in SIGNS)])
def test_any_text_is_one_verbatim_word(text: str) -> None:
    word = quoted(text)
    assert word.isascii() and "\n" not in word and faults(f"$x = {word}") == []
    assert value(word) == text
    root = parsed(f"$x = {array([text, text])}")
    assert not [*nodes(root, "sub_expression", "command", "expandable_string_literal", "script_block_expression")]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_values_of_a_plan_stay_values(text: str) -> None:
    options = ScriptOptions()
    plain = rendered(options, "12.4", "pytorch")
    request = asked("12.4", "pytorch", os_id=None, platform="windows")
    plan = script_plan(request, matrix())
    assert isinstance(plan, Plan)
    work = windows_installation(plan, options, Mirrors())
    assert work.toolkit is not None
    work = replace(
        work,
        plan_id=text,
        env_dir=f"D:\\{text}",
        env_name=text,
        calls=((text, text),),
        toolkit=replace(work.toolkit, url=text, page=text, components=(text,), proof=(text,)),
        notes=(text,),
        plan=replace(plan, warnings=(text,)),
    )
    made = render_powershell(work, options)
    assert made.isascii() and faults(made) == []
    body, expected = made.split("#Requires", 1)[1], plain.split("#Requires", 1)[1]
    assert sorted({*commands(body)}) == sorted({*commands(expected)})
    assert all(line.startswith("#") for line in made.split("#Requires", 1)[0].splitlines())


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--framework", "tensorflow"), 1, "use WSL 2. In PowerShell as administrator: wsl --install -d Ubuntu-"),
        (("--framework", "mxnet"), 1, "envkit install --framework mxnet --os ubuntu"),
        (("--framework", "jax"), 1, "Note: WSL 2: In PowerShell as administrator: wsl --install"),
        (("--framework", "pytorch", "--with-driver"), 2, "--with-driver: No checksums"),
        (("--framework", "pytorch", "--run"), 2, "--run"),
        (("--framework", "pytorch", "--bundle", "x"), 2, "--bundle: the PowerShell script"),
        (("--framework", "pytorch", "--format", "ansible"), 2, "--format: the PowerShell script"),
        (("--cuda", "12.4", "--mirror", "developer.download.nvidia.com=http://m.lan/x"), 2, "over plain HTTP"),
        (("--framework", "pytorch", "--index-url", "https://u:p@pip.lan/simple"), 2, "an address with a password"),
        (("--framework", "pytorch", "--modules", "/opt/x"), 2, "--modules: Module files are for Linux"),
        (("--cuda", "12.4", "--toolkit-path", "/opt/x"), 2, "--toolkit-path: NVIDIA's installer for Windows"),
        (("--cuda", "12.4", "--components", "cufile"), 2, "unknown value 'cufile'"),
        (("--cuda", "13.0", "--components", "npp"), 2, "calls npp. Known are nvcc"),
        (("--framework", "pytorch", "--env", "/opt/x"), 2, "not an absolute Windows path"),
        (("--framework", "pytorch", "--env", r"C:\Windows\x"), 2, "a system directory"),
        (("--framework", "pytorch", "--arch", "aarch64"), 1, ""),
    ],
)
def test_what_does_not_work_there_is_refused(words: tuple[str, ...], code: int, told: str) -> None:
    done = envkit("install", *HERE, *words)
    assert done.returncode == code and done.stdout == "", done.stderr
    assert told in " ".join(done.stderr.split())
    assert not done.stderr.startswith("Plan")  # that no script can be written for


@pytest.mark.parametrize(
    "path", [r"C:\Windows", r"c:/program files/x", r"D:\a\..\..\Windows", "D:\\a\nb", "D:\\a?b", "env", "C:x"]
)
def test_folders_that_no_script_may_fill(path: str) -> None:
    with pytest.raises(RequestError, match="--env"):
        check_path(path)
    check_path(r"D:\envs\it's $x")


def test_parts_come_with_what_they_need_and_without_the_driver() -> None:
    text = rendered(ScriptOptions(components=("cublas", "nvcc")), "12.4")
    assert "$CudaComponents = @('thrust_12.4', 'cublas_12.4', 'cublas_dev_12.4', 'cudart_12.4', 'nvcc_12.4')" in text
    assert "Display.Driver" not in text
    everything = rendered(ScriptOptions(), "12.4")
    named = re.search(r"^\$CudaComponents = (.*)$", everything, re.M)
    assert named and "'nvcc_12.4'" in named.group(1) and "'npp_dev_12.4'" in named.group(1)


@pytest.mark.parametrize(("words", "told"), [((), False), (("--cudnn", "9"), True)])
def test_cudnn_is_no_part_of_the_plan_unless_asked_for_and_then_told_of(words: tuple[str, ...], told: bool) -> None:
    said = " ".join(envkit("install", *HERE, "--cuda", "12.4", *words).stderr.split())
    assert ("cuDNN" in said) is told and ("is not installed: unpack NVIDIA's archive" in said) is told


def test_an_installer_without_a_driver_installs_everything() -> None:
    assert "$CudaComponents = @()" in rendered(ScriptOptions(), "13.0.0")
    assert "'crt_13.0', 'cudart_13.0', 'nvcc_13.0', 'nvvm_13.0'" in rendered(
        ScriptOptions(components=("nvcc",)), "13.0.0"
    )


def test_an_installer_without_a_known_checksum_is_brought_by_the_user() -> None:
    text = rendered(ScriptOptions(), "12.6.3")
    assert "$CudaUrl = ''" in text and "https://developer.nvidia.com/cuda-12-6-3-download-archive" in text


def test_mirrors_stand_in_and_the_checksum_stays() -> None:
    mirrors = Mirrors(
        hosts={"developer.download.nvidia.com": "https://mirror.lan/nv"}, index_url="https://pip.lan/simple"
    )
    text = rendered(ScriptOptions(), "12.4.1", mirrors=mirrors)
    assert "'https://mirror.lan/nv/compute/cuda/12.4.1/local_installers/cuda_12.4.1_551.78_windows.exe'" in text
    assert "7d20c5eb186e4d3c64680fe5096bed05926aea89754192102323c956c26244de" in text


def test_the_same_plan_gives_the_same_bytes_and_the_driver_of_windows() -> None:
    first, second = (rendered(ScriptOptions(), "12.4", "pytorch") for _ in range(2))
    assert first == second
    floor = re.search(r"^\$MinimumDriver = \[version\]'([\d.]+)'$", first, re.M)
    assert floor and len(floor.group(1).split(".")) >= 2
    assert "py.exe" in first and "--index-url" in first


def test_installers_have_checksums_and_belong_to_known_toolkits() -> None:
    known = {row.version for row in matrix().toolkits}
    for row in read(WindowsInstallerRow):
        assert re.fullmatch("[0-9a-f]{64}", row.sha256) and row.cuda in known and row.url.endswith(f"/{row.name}")
        assert {"nvcc", "cudart"} <= {*windows_parts(row.cuda)}
    assert all("\\" in row.proof or row.proof.isidentifier() or "-" in row.proof for row in read(WindowsPartRow))
    assert windows_parts(Version.parse("13.0.0"))["nvcc"].components == ("nvcc", "crt", "nvvm")
