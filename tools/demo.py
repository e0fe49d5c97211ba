#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job on a simulated node: demo.py BUILD_DIR

Starts the kubelet stand-in and hami-dp on a machine of 4 cards in a temporary directory, and shows
registration, a container's grant, a card that fails and a kubelet that restarts. Every step waits
for what it promises and checks it; the first that fails ends the demo with the daemon's log and
exit status 1. Nothing is left running.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

RESOURCE = "hami.com/vgpu"
CARDS, SLOTS, SLOT_MIB = 4, 8, 5120
POD = {
    "name": "trainer", "namespace": "demo",
    "containers": [{"name": "pytorch", "limits": {RESOURCE: 2},
                    "env": {"NVIDIA_VISIBLE_DEVICES": "all"}}],
}


class DemoError(Exception):
    """A step did not do what it promises."""


def expect(condition, what):
    if not condition:
        raise DemoError("expected: " + what)


def heading(number, text):
    print("\n[%d] %s" % (number, text), flush=True)


def line(text=""):
    print(("    " + text).rstrip(), flush=True)


def find_program(build, name):
    for folder, _, files in os.walk(build):
        path = os.path.join(folder, name)
        if name in files and os.access(path, os.X_OK):
            return path
    raise DemoError("no %s below %s: build it first" % (name, build))


class Node:
    """One simulated node: directories, the two programs, and the machine file."""

    def __init__(self, build, source):
        # Socket paths are limited to 107 bytes: a long TMPDIR will not do.
        base = tempfile.gettempdir()
        self.dir = tempfile.mkdtemp(prefix="hami-demo.", dir=base if len(base) < 40 else "/tmp")
        self.machine = os.path.join(self.dir, "machine.json")
        self.plugin_dir = os.path.join(self.dir, "device-plugins")
        self.kubelet_root = os.path.join(self.dir, "kubelet")
        self.control = os.path.join(self.dir, "ctl")
        self.kubelet_program = find_program(build, "hami-kubelet")
        self.daemon_program = find_program(build, "hami-dp")
        self.children = {}
        for name in ("device-plugins", "kubelet", "state", "run"):
            os.mkdir(os.path.join(self.dir, name), 0o755)
        shutil.copy(os.path.join(source, "libhamidp/machines/article.json"), self.machine)

    def log_path(self, name):
        return os.path.join(self.dir, name + ".log")

    def start(self, name, argv, env=None):
        with open(self.log_path(name), "ab") as log:
            self.children[name] = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log,
                                                   stderr=log, env=env)

    def start_kubelet(self):
        self.start("hami-kubelet", [self.kubelet_program, "--dir", self.plugin_dir, "--root",
                                    self.kubelet_root, "--control", self.control])
        self.ctl("status")

    def start_daemon(self):
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("HAMI_") and name not in ("NODE_NAME", "NOTIFY_SOCKET")}
        env["HAMI_VGPU_CORES_PER_DEVICE"] = str(SLOTS)
        env["HAMI_VGPU_MEMORY_MB_PER_CORE"] = str(SLOT_MIB)
        argv = [self.daemon_program, "--driver=sim:" + self.machine,
                "--device-plugin-dir=" + self.plugin_dir, "--kubelet-root-dir=" + self.kubelet_root,
                "--state-dir=" + os.path.join(self.dir, "state"),
                "--run-dir=" + os.path.join(self.dir, "run"), "--v=4"]
        line("$ HAMI_VGPU_CORES_PER_DEVICE=%d HAMI_VGPU_MEMORY_MB_PER_CORE=%d \\"
             % (SLOTS, SLOT_MIB))
        line("  hami-dp --driver=sim:machine.json")
        self.start("hami-dp", argv, env)

    def ctl(self, verb, **args):
        argv = [self.kubelet_program, "ctl", "--control", self.control, "--compact", verb]
        argv += ["%s=%s" % item for item in args.items()]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=60)
        expect(done.returncode == 0, "%s: %s" % (" ".join(argv[5:]), done.stderr.strip()))
        return json.loads(done.stdout) if done.stdout.strip() else None

    def status(self):
        for resource in self.ctl("status")["resources"]:
            if resource["name"] == RESOURCE:
                return resource
        raise DemoError("expected: %s is registered" % RESOURCE)

    def read_machine(self):
        with open(self.machine, encoding="utf-8") as text:
            return json.load(text)

    def set_health(self, uuid, health):
        """Edit the machine file as an operator's editor does: a new file, renamed onto it."""
        machine = self.read_machine()
        for device in machine["devices"]:
            if device["uuid"] == uuid:
                device["health"] = health
        new = self.machine + ".new"
        with open(new, "w", encoding="utf-8") as text:
            json.dump(machine, text, indent=1)
        os.rename(new, self.machine)

    def stop(self, name):
        """SIGTERM, then SIGKILL; returns the exit status and the seconds it took."""
        child = self.children.pop(name)
        began = time.monotonic()
        child.terminate()
        try:
            child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        return child.returncode, time.monotonic() - began

    def close(self):
        for name in list(self.children):
            self.stop(name)
        shutil.rmtree(self.dir, ignore_errors=True)


def holders(node):
    """Slot id -> (pod/container, grant id), as the stand-in knows them."""
    held = {}
    for pod in node.ctl("pods"):
        for container in pod["containers"]:
            name = "%s/%s/%s" % (pod["namespace"], pod["name"], container["name"])
            env = (container.get("view") or {}).get("env", {})
            for slot in container["ids"].get(RESOURCE, []):
                held[slot] = (name, env.get("HAMI_VGPU_GRANT", "?"))
    return held


def show_picture(node):
    held = holders(node)
    devices = {device["id"]: device for device in node.ctl("devices", resource=RESOURCE)}
    status = node.status()
    line("%s: capacity %d, allocatable %d, in use %d"
         % (RESOURCE, status["capacity"], status["allocatable"], status["in_use"]))
    line()
    line("card  %-42s %9s  %s" % ("uuid", "memory", "slots 0-%d" % (SLOTS - 1)))
    for index, card in enumerate(node.read_machine()["devices"]):
        marks = ""
        for slot in range(SLOTS):
            slot_id = "%s::%d" % (card["uuid"], slot)
            device = devices.get(slot_id)
            mark = "?" if not device else "x" if device["health"] != "Healthy" else "."
            marks += mark if slot_id not in held else "#" if mark == "." else "X"
        line("%4d  %-42s %5d MiB  %s" % (index, card["uuid"], card["memory_mib"], marks))
    line("      . free   # held   x unhealthy   X held, on an unhealthy card")
    if held:
        line()
    for slot, (name, grant) in sorted(held.items()):
        line("%s  held by %s, grant %s" % (slot, name, grant))


def step_start(node):
    heading(1, "A node of %d cards of %d MiB, %d slices of %d MiB each"
            % (CARDS, SLOTS * SLOT_MIB, SLOTS, SLOT_MIB))
    cards = node.read_machine()["devices"]
    expect(len(cards) == CARDS, "%d cards in the machine file" % CARDS)
    expect(all(card["memory_mib"] == SLOTS * SLOT_MIB for card in cards), "40960 MiB a card")
    node.start_kubelet()
    line("the kubelet stand-in listens on kubelet.sock")
    node.start_daemon()


def step_register(node):
    heading(2, "Registration with the kubelet")
    node.ctl("wait", registered=RESOURCE + ":1", timeout="20s")
    node.ctl("wait", capacity="%s:%d" % (RESOURCE, CARDS * SLOTS), timeout="20s")
    node.ctl("wait", allocatable="%s:%d" % (RESOURCE, CARDS * SLOTS), live=RESOURCE + ":1")
    status = node.status()
    line("registered as %s at %s" % (RESOURCE, os.path.basename(status["endpoint"])))
    line("GetPreferredAllocation: %s, PreStartContainer: %s"
         % ("yes" if status["get_preferred_allocation_available"] else "no",
            "yes" if status["pre_start_required"] else "no"))
    line("Capacity:     %s: %d" % (RESOURCE, status["capacity"]))
    line("Allocatable:  %s: %d" % (RESOURCE, status["allocatable"]))
    expect(status["registrations"] == 1, "one registration, not %d" % status["registrations"])


def show_view(view):
    line("env")
    for name, value in sorted(view["env"].items()):
        line("  %s=%s" % (name, value))
    line("device nodes")
    for device in view["devices"]:
        line("  %s  <- %s  (%s)" % (device["container"], device["host"], device["permissions"]))
    line("mounts")
    for mount in view["mounts"]:
        line("  %s  <- %s  (%s)" % (mount["container"], mount["host"],
                                    "read-only" if mount["read_only"] else "writable"))
    if not view["mounts"]:
        line("  none: the machine file names none")


def check_view(node, view, slots):
    env = view["env"]
    cards = sorted({slot.partition("::")[0] for slot in slots})
    expect(len(cards) == 1, "both slices on one card, not on %s" % cards)
    expect(sorted(env.get("HAMI_VGPU_UUID", "").split(",")) == sorted(slots),
           "HAMI_VGPU_UUID names the ids %s" % slots)
    expect(env.get("HAMI_VGPU_DEVICES") == cards[0], "HAMI_VGPU_DEVICES=" + cards[0])
    expect(env.get("HAMI_VGPU_MEMORY_MB") == str(2 * SLOT_MIB),
           "HAMI_VGPU_MEMORY_MB=%d" % (2 * SLOT_MIB))
    expect(env.get("HAMI_VGPU_CORES") == "25", "HAMI_VGPU_CORES=25")
    expect(re.fullmatch("[0-9a-f]{32}", env.get("HAMI_VGPU_GRANT", "")), "HAMI_VGPU_GRANT: an id")
    expect(view["devices"], "a device node")
    machine = node.read_machine()
    wanted = {mount["container"] for mount in machine.get("mounts", [])}
    expect({mount["container"] for mount in view["mounts"]} == wanted,
           "the mounts %s" % sorted(wanted))
    expect(all(mount["read_only"] for mount in view["mounts"]), "read-only mounts")
    return cards[0]


def step_allocate(node):
    heading(3, "A container asks for 2 slices")
    line("pod demo/trainer, container pytorch, limits %s: 2, its own NVIDIA_VISIBLE_DEVICES=all"
         % RESOURCE)
    pod = node.ctl("run-pod", spec=json.dumps(POD))
    expect(pod["phase"] == "Running", "the pod runs, not %s: %s" %
           (pod["phase"], pod.get("message", "")))
    container = pod["containers"][0]
    slots = container["ids"][RESOURCE]
    expect(len(slots) == 2, "2 slots, not %d" % len(slots))
    line("it runs, and this is what it got:")
    line()
    show_view(container["view"])
    return check_view(node, container["view"], slots)


def step_picture(node):
    heading(4, "The node after it")
    show_picture(node)
    expect(len(holders(node)) == 2, "two held slots")


def step_failure(node, card):
    healthy, left = CARDS * SLOTS, CARDS * SLOTS - SLOTS
    heading(5, "The container's card fails")
    began = time.monotonic()
    node.set_health(card, "unhealthy")
    node.ctl("wait", allocatable="%s:%d" % (RESOURCE, left), timeout="20s")
    line("the kubelet knew after %.0f ms" % (1e3 * (time.monotonic() - began)))
    expect(node.status()["capacity"] == healthy, "capacity stays %d" % healthy)
    show_picture(node)
    heading(6, "The card recovers")
    began = time.monotonic()
    node.set_health(card, "healthy")
    node.ctl("wait", allocatable="%s:%d" % (RESOURCE, healthy), timeout="20s")
    line("the kubelet knew after %.0f ms; allocatable is %d again"
         % (1e3 * (time.monotonic() - began), node.status()["allocatable"]))


def step_restart(node):
    heading(7, "The kubelet restarts")
    before = holders(node)
    daemon = node.children["hami-dp"].pid
    began = time.monotonic()
    node.ctl("restart", mode="kill")
    node.ctl("wait", registered=RESOURCE + ":2", timeout="30s")
    node.ctl("wait", capacity="%s:%d" % (RESOURCE, CARDS * SLOTS), live=RESOURCE + ":1",
             timeout="30s")
    line("hami-dp (pid %d) registered again; full list after %.0f ms"
         % (daemon, 1e3 * (time.monotonic() - began)))
    expect(node.children["hami-dp"].poll() is None, "hami-dp still runs")
    expect(holders(node) == before, "the same holders as before the restart")
    show_picture(node)


def step_stop(node):
    heading(8, "The end")
    status, seconds = node.stop("hami-dp")
    expect(status == 0, "hami-dp exits with 0, not %d" % status)
    line("hami-dp ended on SIGTERM after %.0f ms" % (1e3 * seconds))
    left = [name for name in os.listdir(node.plugin_dir) if name.startswith("hami.com_")]
    expect(not left, "no socket left behind, but %s" % left)
    expect(node.stop("hami-kubelet")[0] == 0, "the kubelet stand-in exits with 0")
    line("all steps did what they promise")


def show_logs(node):
    for name in ("hami-kubelet", "hami-dp"):
        if os.path.exists(node.log_path(name)):
            print("\n---- log of %s, last 60 lines" % name, file=sys.stderr)
            with open(node.log_path(name), encoding="utf-8", errors="replace") as log:
                sys.stderr.writelines(log.readlines()[-60:])


def run(node):
    step_start(node)
    step_register(node)
    card = step_allocate(node)
    step_picture(node)
    step_failure(node, card)
    step_restart(node)
    step_stop(node)


def on_signal(number, _):
    raise DemoError("interrupted by signal %d" % number)


def main(argv):
    if len(argv) != 2:
        sys.exit("usage: demo.py BUILD_DIR")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    node = None
    try:
        node = Node(os.path.abspath(argv[1]), source)
        run(node)
        return 0
    except (DemoError, OSError, KeyError, ValueError, subprocess.SubprocessError) as err:
        print("\nerror: %s" % err, file=sys.stderr)
        if node:
            show_logs(node)
        return 1
    finally:
        if node:
            node.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv))
