"""A virtual machine (qemu), and what a test does with it: run a script in it as root, restart it, cut its power.

Invariants: needs no privileges and no network of this machine (a pair of unix sockets joins two machines); what a machine
writes goes to an overlay of its own; stop() ends the process and nothing is left running.
"""

import base64
import os
import shlex
import socket
import subprocess
import time
from typing import NamedTuple

import image

BOOT = 600.0  # seconds for what takes 10 with KVM and 90 without
DEADLINE = 240.0
MEMORY = "1024"
# What a kernel need not do without acceleration.
QUICK = "quiet mitigations=off nokaslr cryptomgr.notests audit=0 no_timer_check"


class Done(NamedTuple):
    status: int
    out: str
    err: str


def wait_for(condition, what, deadline=DEADLINE):
    """Asks `condition` until it returns something true, which is returned."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {deadline:.0f} s: {what() if callable(what) else what}; last: {value!r}"
        time.sleep(0.3)


def has_kvm(system, folder):
    """Whether a kernel starts under KVM here: /dev/kvm may be there and be of no use, as in some virtual machines."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    console = folder / "kvm.console"
    command = ["qemu-system-x86_64", "-accel", "kvm", "-cpu", "host", "-m", "256", "-nodefaults", "-display", "none", "-kernel",
               system.kernel, "-append", "console=ttyS0 earlyprintk=serial", "-serial", f"file:{console}"]
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 15
    starts = False
    while not starts and process.poll() is None and time.monotonic() < end:
        time.sleep(0.2)
        starts = console.exists() and "Linux version" in console.read_text(errors="replace")
    process.kill()
    process.wait()
    return starts


def processor(system, folder):
    """Options of qemu: KVM where it is of use, or else qemu's own translation. GANGWAY_VM_ACCEL=tcg or kvm chooses."""
    chosen = os.environ.get("GANGWAY_VM_ACCEL") or ("kvm" if has_kvm(system, folder) else "tcg")
    return ["-accel", "kvm", "-cpu", "host"] if chosen == "kvm" else ["-accel", "tcg,thread=multi", "-cpu", "max"]


class Machine:
    def __init__(self, name, system, cpu, tree, folder, peer):
        """`cpu` is what processor() gave, `tree` a tar file that the machine sees as its second disk; `peer` the name of the machine at the other end."""
        self.name, self.folder = name, folder
        self.process = self.wire = None
        self.number = 0
        self.heard = b""
        self.overlay = folder / f"{name}.qcow2"
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", system.disk.resolve(), self.overlay],
                       check=True)
        self.command = [
            "qemu-system-x86_64", *cpu, "-M", "q35", "-smp", "2", "-m", MEMORY, "-nodefaults",
            "-display", "none", "-vga", "none", "-no-reboot",
            "-kernel", system.kernel, "-initrd", system.initrd,
            "-append", f"root=/dev/vda rw console=ttyS0 net.ifnames=0 panic=-1 systemd.hostname={name} {QUICK}",
            "-drive", f"file={self.overlay},if=virtio,cache=unsafe",
            "-drive", f"file={tree},if=virtio,format=raw,readonly=on",
            "-netdev", f"dgram,id=net,local.type=unix,local.path={folder}/{name}.net,remote.type=unix,"
                       f"remote.path={folder}/{peer}.net",
            "-device", f"virtio-net-pci,netdev=net,mac={image.mac(name)}",
            "-device", "virtio-serial-pci", "-chardev", f"socket,id=agent,path={folder}/{name}.agent,server=on,wait=off",
            "-device", "virtserialport,chardev=agent,name=agent",
            "-serial", f"file:{folder}/{name}.console", "-monitor", f"unix:{folder}/{name}.monitor,server=on,wait=off",
            # Two GPUs as far as the PCI bus knows; rocm_smi.c says which device files are theirs.
            "-device", "ati-vga,addr=0x10", "-device", "ati-vga,addr=0x11",
        ]

    # ---- Life

    def start(self):
        log = (self.folder / f"{self.name}.qemu").open("w", encoding="utf-8")
        self.heard = b""
        for end in self.folder.glob(f"{self.name}.net"):
            end.unlink()
        self.process = subprocess.Popen([str(word) for word in self.command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.wire = wait_for(self._connect, f"{self.name}: qemu is there")
        return self

    def _connect(self):
        assert self.process.poll() is None, (self.folder / f"{self.name}.qemu").read_text()
        wire = socket.socket(socket.AF_UNIX)
        try:
            wire.connect(f"{self.folder}/{self.name}.agent")
        except OSError:
            wire.close()
            return None
        return wire

    def stop(self):
        """As if the power went; what the machine has written to its disk stays there."""
        if self.wire:
            self.wire.close()
            self.wire = None
        if self.process and self.process.poll() is None:
            with socket.socket(socket.AF_UNIX) as monitor:
                monitor.connect(f"{self.folder}/{self.name}.monitor")
                monitor.sendall(b"quit\n")
                self.process.wait(60)

    def boot_id(self):
        """Waits until the machine answers."""
        end = time.monotonic() + BOOT
        while True:
            assert time.monotonic() < end, f"{self.name} does not answer:\n{self.console()}"
            done = self._ask("cat /proc/sys/kernel/random/boot_id", 20, 5)
            if done:
                return done.out.strip()

    def wait_until_up(self):
        """Until the machine has booted and has started all units."""
        self.boot_id()
        state = self.run("systemctl is-system-running --wait", check=False, seconds=BOOT).out.strip()
        assert state in ("running", "degraded"), state + self.console()

    # qemu ends where a machine starts anew (-no-reboot) and is started again: it takes minutes to load a kernel over another one
    # that it has translated.

    def restart(self):
        """As `reboot` does it: units are stopped."""
        self.run("systemd-run --on-active=1 --timer-property=AccuracySec=100ms systemctl reboot")
        self.process.wait(BOOT)
        self.stop()
        self.start()

    def cut_power(self):
        """The machine starts anew, without a word to anything that runs on it. What was written lately may be lost."""
        self.stop()
        self.start()

    # ---- Commands

    def _ask(self, script, seconds, patience):
        """What a script gave; None if no answer came within `patience` seconds."""
        self.number += 1
        text = base64.b64encode(script.encode()).decode()
        self.wire.settimeout(patience)
        self.wire.sendall(f"{self.number} {seconds:.0f} {text}\n".encode())
        end = time.monotonic() + patience
        while (left := end - time.monotonic()) > 0:
            self.wire.settimeout(left)
            try:
                data = self.wire.recv(65536)
            except TimeoutError:
                return None
            assert data, f"{self.name}: qemu has ended"
            self.heard += data
            *lines, self.heard = self.heard.split(b"\n")
            for line in lines:
                words = line.decode(errors="replace").split(" ")
                if len(words) == 4 and words[0] == str(self.number):
                    out, err = (base64.b64decode(word[1:]).decode(errors="replace") for word in words[2:])
                    return Done(int(words[1]), out, err)
        return None

    def run(self, script, check=True, seconds=DEADLINE):
        """A shell script as root."""
        done = self._ask(script, seconds, seconds + 30)
        assert done, f"{self.name} does not answer to: {script}\n{self.console()}"
        assert done.status == 0 or not check, f"{self.name}: {script} -> {done.status}\n{done.out}{done.err}"
        return done

    def as_user(self, *words, check=True, seconds=DEADLINE):
        """A command of the ordinary user `games`, in its folder."""
        line = " ".join(shlex.quote(str(word)) for word in words)
        prefix = "cd /srv/games && exec setpriv --reuid=games --regid=games --init-groups env HOME=/srv/games USER=games "
        return self.run(prefix + line, check=check, seconds=seconds)

    def read(self, path):
        return self.run(f"cat {shlex.quote(str(path))}").out

    def write(self, path, data):
        quoted = shlex.quote(str(path))
        text = base64.b64encode(data.encode() if isinstance(data, str) else data).decode()
        self.run(f"mkdir -p $(dirname {quoted}) && base64 -d > {quoted} <<'END'\n{text}\nEND")

    def console(self):
        file = self.folder / f"{self.name}.console"
        return file.read_text(errors="replace")[-3000:] if file.exists() else ""

    def logs(self):
        return self._ask("journalctl -b -n 80 -u gctld -u gnoded --no-pager; gangway doctor", 60, 90) or Done(1, "", "no answer")
