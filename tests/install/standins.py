"""Stand-in runfiles: real makeself archives whose installers obey the documented options and fail as documented."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

from tests.engine.tools import need

# The installers pause half way while this file exists, so that a test can stop them there.
SLOW = "/slow"

NVCC = """\
#!/bin/sh
if [ "$1" = --version ]; then
  echo "nvcc: NVIDIA (R) Cuda compiler driver"
  echo "Cuda compilation tools, release {release}, V{version}"
  exit 0
fi
out=a.out
while [ $# -gt 0 ]; do
  case "$1" in
    -arch=*) case " {targets} " in *" ${{1#-arch=}} "*) ;;
      *) echo "nvcc fatal : Value '${{1#-arch=}}' is not defined" >&2; exit 1 ;; esac ;;
    -o) out=$2; shift ;;
    -ccbin) "$2" --version >/dev/null || exit 1; shift ;;
  esac
  shift
done
printf '#!/bin/sh\\necho 62\\n' >"$out"
chmod +x "$out"
"""

_LEGACY = r"""
use strict; use warnings; use IO::Handle;
use InstallUtils;  # newer Perl versions find it only through PERL5LIB
my %on; my %value; my @known = qw(silent driver toolkit samples override verbose accept-eula no-opengl-libs help);
my @valued = qw(toolkitpath samplespath tmpdir installdir kernel-source-path extract);
open(my $log, '>', "/tmp/cuda_install_$$.log");
sub quit { my ($code, $text) = @_; print $text; print $log $text; exit $code }
$SIG{INT} = $SIG{TERM} = sub { quit(1, "Signal caught, cleaning up\n") };
for my $word (@ARGV) {
  my ($name, $text) = $word =~ /^--?([a-z-]+)(?:=(.*))?$/ or quit(1, "Unknown option: $word\n");
  if (grep { $_ eq $name } @valued) { $value{$name} = $text } elsif (grep { $_ eq $name } @known) { $on{$name} = 1 }
  else { quit(1, "Unknown option: $word\n") }
}
quit(1, "Do you accept the previously read EULA? accept/decline/quit: ") unless $on{silent};
my $patch = -e "patch-number";
quit(1, "The EULA was not accepted\n") if $patch && !$on{"accept-eula"};
quit(1, "unsupported compiler: 12.2.0. Use --override to override this check.\n") unless $patch || $on{override};
my $tmp = $value{tmpdir} || "/tmp";
quit(1, "Not enough space on parition mounted at $tmp.\n") if -e "$tmp/envkit-test-full";
my $path = $patch ? $value{installdir} : $value{toolkitpath};
quit(1, "no path given\n") unless $path;
if (-e "/installer-fails") { quit(1, "Installation Failed. Signal caught, cleaning up\n") }
if (-e "/installer-lies") { quit(0, "Finished\n") }
$log->autoflush(1);
print $log "Installing the CUDA Toolkit in $path ...\n" unless $patch;
InstallUtils::copy("payload", $path, $patch);
unless ($patch) {
  unlink "/usr/local/cuda"; symlink($path, "/usr/local/cuda");
  mkdir "/usr/share/applications"; open(my $menu, '>', "/usr/share/applications/nsight.desktop");
  print $menu "Exec=$path/libnsight/nsight\n"; close $menu;
  print "***WARNING: Incomplete installation! This installation did not install the CUDA Driver.\n";
}
"""

_INSTALL_UTILS = r"""
package InstallUtils;
sub copy {
  my ($from, $to, $patch) = @_;
  system("mkdir", "-p", $to) == 0 or exit 1;
  system("cp -a $from/bin $to/") == 0 or exit 1 if -d "$from/bin";
  sleep 2 if -e "/slow";
  system("cp -a $from/. $to/") == 0 or exit 1;
}
1;
"""

_NEW = r"""#!/bin/bash
log=/var/log/cuda-installer.log; [ "$(id -u)" = 0 ] || log=/tmp/cuda-installer.log
if [ -e /tmp/cuda-installer.log ] && ! rm -f /tmp/cuda-installer.log; then kill -SEGV $$; fi
quit() { echo "$2" | tee -a "$log"; exit "$1"; }
: >"$log"
for word in "$@"; do
  case "$word" in
    --silent) silent=1 ;; --toolkit) toolkit=1 ;; --driver) driver=1 ;; --override) override=1 ;;
    --no-man-page | --override-driver-check | --no-opengl-libs | --no-drm) ;;
    -m=kernel | -m=kernel-open) ;;
    --samples) samples=1 ;;
    --toolkitpath=*) path=${word#*=} ;; --defaultroot=*) root=${word#*=} ;;
    --installpath=*) path=${word#*=}; root=$path ;;
    --librarypath=*) library=${word#*=} ;; --samplespath=*) sp=${word#*=} ;; --tmpdir=*) tmp=${word#*=} ;;
    --kernel-source-path=*) ;;
    *) quit 1 "[ERROR]: unrecognized option '$word'" ;;
  esac
done
[ -n "$silent" ] || quit 1 "[ERROR]: this needs a terminal"
[ -n "$toolkit$driver" ] || [ "$(id -u)" = 0 ] || quit 1 "[ERROR]: name --toolkit or --driver"
if [ -n "$driver" ]; then
  mkdir -p /fake/sys/module/nvidia
  echo 550.54.15 >/fake/sys/module/nvidia/version
  printf '#!/bin/sh\nrm -r /fake/sys/module/nvidia /usr/bin/nvidia-uninstall\n' >/usr/bin/nvidia-uninstall
  chmod +x /usr/bin/nvidia-uninstall
  exit 0
fi
[ -n "$override" ] || quit 1 "[ERROR]: Failed to verify gcc version. See log at $log"
[ ! -e release-10.1 ] || [ -n "$library" ] || quit 1 "[ERROR]: Install of toolkit failed, quitting"
[ ! -e /installer-fails ] || quit 1 "[ERROR]: Install of toolkit failed, quitting"
[ ! -e /installer-lies ] || quit 0 "[INFO]: done"
[ ! -e "${tmp:-/tmp}/envkit-test-full" ] || quit 1 "[ERROR]: Disk space check has failed"
mkdir -p "$path" || quit 1 "[ERROR]: Install of toolkit failed, quitting"
echo "Toolkit:  Installed in $path/" >>"$log"
cp -a payload/bin "$path/"
[ ! -e /slow ] || sleep 2
cp -a payload/. "$path/"
if [ -z "$root" ]; then mkdir -p /usr/lib/pkgconfig; echo "cudaroot=$path" >/usr/lib/pkgconfig/cudart.pc; fi
if [ "$(id -u)" = 0 ]; then
  rm -f /usr/local/cuda; ln -s "$path" /usr/local/cuda
  mkdir -p /var/log/nvidia/.uninstallManifests; echo "$path" >/var/log/nvidia/.uninstallManifests/toolkit
fi
echo "***WARNING: Incomplete installation! This installation did not install the CUDA Driver." | tee -a "$log"
"""


@dataclass(frozen=True)
class StandIn:
    """A file as the loopback server gives it out."""

    path: Path
    sha256: str
    md5: str

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name


def described(path: Path) -> StandIn:
    """The checksums of a file."""
    data = path.read_bytes()
    return StandIn(path, hashlib.sha256(data).hexdigest(), hashlib.md5(data).hexdigest())


def toolkit_runfile(folder: Path, name: str, style: str, version: str, targets: str, nvcc_version: str) -> StandIn:
    """A toolkit runfile of this style: nvcc, headers and two real libraries, the second linked to the first."""
    need("makeself")
    release = ".".join(version.split(".")[:2])
    work = folder / f"work-{name}"
    payload = work / "payload"
    for part in ("bin", "include", "lib64"):
        (payload / part).mkdir(parents=True)
    nvcc = payload / "bin/nvcc"
    nvcc.write_text(NVCC.format(release=release, version=nvcc_version, targets=targets))
    nvcc.chmod(0o755)
    (payload / "include/cuda_runtime.h").write_text("// stand-in\n")
    (payload / "version.txt").write_text(f"CUDA Version {version}\n")
    library(payload / "lib64", "cudart", release, ())
    library(payload / "lib64", "cublas", release, ("cudart",))
    (work / f"release-{release}").touch()
    return _pack(work, folder / name, style)


def patch_runfile(folder: Path, name: str, number: int) -> StandIn:
    """A legacy patch: one changed file."""
    need("makeself")
    work = folder / f"work-{name}"
    (work / "payload/lib64").mkdir(parents=True)
    (work / "patch-number").write_text(f"{number}\n")
    (work / f"payload/lib64/patch-{number}.txt").write_text("patched\n")
    return _pack(work, folder / name, "legacy")


def cudnn_archive(folder: Path, name: str, version: str) -> StandIn:
    """A cuDNN archive in the layout of its time; releases of one line share one."""
    if (folder / name).exists():
        return described(folder / name)
    need("makeself")
    modern = name.endswith(".tar.xz")
    major, minor, patch = version.split(".")[:3]
    top = folder / f"work-{name}" / (name.removesuffix(".tar.xz") if modern else "cuda")
    (top / "include").mkdir(parents=True)
    header = textwrap.dedent(
        f"""\
        #define CUDNN_MAJOR {major}
        #define CUDNN_MINOR {minor}
        #define CUDNN_PATCHLEVEL {patch}
        """
    )
    (top / "include" / ("cudnn_version.h" if modern else "cudnn.h")).write_text(header)
    (top / "include/cudnn.h").write_text(header)
    libraries = top / ("lib" if modern else "lib64")
    libraries.mkdir()
    library(libraries, "cudnn", major, ())
    target = folder / name
    subprocess.run(["tar", "-C", str(top.parent), "-caf", str(target), top.name], check=True)
    return described(target)


def library(folder: Path, name: str, release: str, needs: tuple[str, ...]) -> None:
    """A library that loads, linked to others of `folder`, with the links that a toolkit has for it."""
    file = folder / f"lib{name}.so.{release}.1"
    command = ["gcc", "-shared", "-o", str(file), f"-Wl,-soname,lib{name}.so.{release}", "-x", "c", "/dev/null"]
    command += ["-Wl,--no-as-needed", "-L", str(folder), *(f"-l{other}" for other in needs)]
    subprocess.run(command, check=True)
    (folder / f"lib{name}.so.{release}").symlink_to(file.name)
    (folder / f"lib{name}.so").symlink_to(f"lib{name}.so.{release}")


def _header() -> str:
    """Makeself's own header, which hands options that it does not know to the installer, as NVIDIA's does."""
    text = Path("/usr/share/makeself/makeself-header.sh").read_text()
    own = '    -*)\n\techo Unrecognized flag : "\\$1" >&2\n\tMS_Help\n\texit 1\n\t;;\n'
    assert own in text
    return text.replace(own, "    -*)\n\tbreak ;;\n")


def _pack(work: Path, target: Path, style: str) -> StandIn:
    if style == "legacy":
        (work / "cuda-installer.pl").write_text(_LEGACY)
        (work / "InstallUtils.pm").write_text(_INSTALL_UTILS)
        start = ["perl", "./cuda-installer.pl"]
    else:
        installer = work / "cuda-installer"
        installer.write_text(_NEW)
        installer.chmod(0o755)
        start = ["./cuda-installer"]
    makeself = shutil.which("makeself")
    assert makeself
    header = work.parent / f"header-{work.name}"
    header.write_text(_header())
    subprocess.run(
        [
            makeself,
            "--header",
            str(header),
            "--nox11",
            "--nocomp",
            "--tar-quietly",
            str(work),
            str(target),
            target.name,
            *start,
        ],
        check=True,
        capture_output=True,
    )
    return described(target)
