"""The disk image that the virtual machines start from: a small Debian with systemd, and what the admin guide lists for running.

Invariants: an image is made once for a recipe and kept below build/vm under a name that carries the recipe's hash; a half-made
one never has that name. Nothing of this machine is changed: no mounts outside of a namespace of their own, no loop devices.
"""

import hashlib
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "admin-guide.md"
RELEASES = {"12": "bookworm", "13": "trixie"}
MIRROR = "http://deb.debian.org/debian"
# What makes a machine of it. Neither a compiler nor anything else that Gangway could come to lean on unseen.
SYSTEM = ["systemd-sysv", "udev", "dbus", "iproute2", "kmod", "nftables", "procps", "initramfs-tools", "linux-image-cloud-amd64"]
MODULES = ["virtio_pci", "virtio_blk", "virtio_net", "virtio_console", "ext4"]
SIZE = "3G"
ADDRESSES = {"head": "10.77.0.1", "n1": "10.77.0.2"}

# Commands come in by a virtio port, one a line: NUMBER SECONDS SCRIPT; NUMBER STATUS OUTPUT ERRORS goes back. Texts are in base64.
AGENT = r"""#!/bin/bash
exec 3<>/dev/virtio-ports/agent || exit 1
cd /
while read -r number seconds script <&3; do
  base64 -d <<<"$script" >/run/agent.script
  timeout -k 5 "$seconds" bash /run/agent.script </dev/null >/run/agent.out 2>/run/agent.err 3>&-
  echo "$number $? =$(base64 -w0 /run/agent.out) =$(base64 -w0 /run/agent.err)" >&3
done
"""
AGENT_UNIT = """[Unit]
Description=Runs what the test says
After=dbus.service
# The port reads as ended while nobody is connected to it.
StartLimitIntervalSec=0
[Service]
ExecStart=/usr/local/sbin/agent
Environment=LC_ALL=C.UTF-8 HOME=/root
Restart=always
RestartSec=1
KillMode=process
[Install]
WantedBy=multi-user.target
"""
NETWORK = "[Match]\nMACAddress={mac}\n[Network]\nAddress={address}/24\nLinkLocalAddressing=no\n"


def mac(name):
    return f"52:54:00:77:00:{list(ADDRESSES).index(name) + 1:02x}"


def files():
    """What is written into the image, by path."""
    made = {
        "etc/hosts": "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in ADDRESSES.items()),
        "etc/hostname": "unnamed\n",
        "etc/machine-id": "",
        "etc/systemd/system/agent.service": AGENT_UNIT,
        "usr/local/sbin/agent": AGENT,
    }
    for name, address in ADDRESSES.items():
        made[f"etc/systemd/network/{name}.network"] = NETWORK.format(mac=mac(name), address=address)
    return made


def guide_packages(release):
    """The packages that the guide says are needed at run time."""
    row = re.search(rf"(?m)^\| {release} \| (.*) \|$", GUIDE.read_text())
    assert row, f"the guide has no row for Debian {release}"
    return re.findall(r"`([^`]+)`", row[1])


class Image:
    """Kernel, initial RAM disk and file system of one Debian release."""

    def __init__(self, release, folder):
        self.release = release
        self.packages = SYSTEM + guide_packages(release)
        recipe = pathlib.Path(__file__).read_text(encoding="utf-8") + repr(self.packages)
        self.folder = pathlib.Path(folder) / f"debian{release}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
        self.kernel, self.initrd, self.disk = (self.folder / name for name in ("vmlinuz", "initrd", "disk"))

    def make(self):
        """Returns the image; makes it if it is not there, which takes some minutes and needs root."""
        if self.folder.exists():
            return self
        making = self.folder.with_name(self.folder.name + ".new")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        tree = making / "tree"
        self._install(tree, making / "mmdebstrap.log")
        for source, target in (("vmlinuz-*", "vmlinuz"), ("initrd.img-*", "initrd")):
            shutil.copy(next(tree.glob(f"boot/{source}")), making / target)
        subprocess.run(["/usr/sbin/mkfs.ext4", "-q", "-F", "-d", tree, making / "disk", SIZE], check=True)
        shutil.rmtree(tree)
        making.rename(self.folder)
        return self

    def _install(self, tree, log):
        scratch = log.with_name("files")
        for path, text in files().items():
            file = scratch / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (scratch / "usr/local/sbin/agent").chmod(0o755)
        modules = " ".join(MODULES)
        hooks = [
            # Before the packages: the RAM disk is made once, while the kernel is installed.
            f'--essential-hook=cd "$1" && mkdir -p etc/initramfs-tools/conf.d && echo MODULES=list > etc/initramfs-tools/conf.d/small && '
            f'printf "%s\\n" {modules} > etc/initramfs-tools/modules',
            f'--customize-hook=cp -RT {scratch} "$1"',
            '--customize-hook=mkdir -p "$1/var/log/journal"',
            '--customize-hook=chroot "$1" systemctl enable agent systemd-networkd',
            # The guide says when MUNGE starts.
            '--customize-hook=chroot "$1" systemctl disable munge apt-daily.timer apt-daily-upgrade.timer',
        ]
        quiet = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "doc", "locale")]
        # In a mount namespace: what it mounts into the tree goes with it, however it ends, and is never removed with the tree.
        command = ["unshare", "--mount", "mmdebstrap", "--variant=minbase", f"--include={','.join(self.packages)}", *quiet, *hooks,
                   RELEASES[self.release], tree, MIRROR]
        with log.open("w") as out:
            done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False)
        assert done.returncode == 0, f"mmdebstrap failed:\n{log.read_text()[-3000:]}"
