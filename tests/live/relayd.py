#!/usr/bin/env python3
"""Real sessions of lttng-relayd: the mirror is what the relay wrote, and what babeltrace2 sees live.

Buffers per user and per process, programs that begin and end while it runs, `lttng clear`, kills of the mirror; the folder that the
relay keeps on its disk is the judge: packets byte for byte, indexes by all members that a viewer is told. Skipped aloud where
lttng-tools or liblttng-ust-dev is not installed.
"""
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
import results
from results import finish, result
from rig import Missing, Rig, say


def tree(folder):
    out = {}
    for place, _, names in os.walk(folder):
        for name in names:
            if name not in (".yore-mirror", ".yore-beacons"):
                with open(os.path.join(place, name), "rb") as file:
                    out[os.path.relpath(os.path.join(place, name), folder)] = file.read()
    return out


def as_turns(files):
    """Limited trace files as the mirror calls them: ch0_1_0 is ch0_1, ch0_1_2 is ch0_1.2."""
    return {re.sub(r"(ch0_\d+)_(\d+)", lambda m: m[1] + ("." + m[2] if m[2] != "0" else ""), path): data for path, data in files.items()}


def entries(data):
    """The members of an index that a viewer is told."""
    size = struct.unpack_from(">I", data, 12)[0]
    return [data[at : at + 56] for at in range(16, len(data), size)]


def left_out(mirror, source):
    """
    Packets that a relay before 2.14 did not give: of a process that is gone it hangs up the streams before all of it was asked for
    (lttng-tools). No viewer can tell; what was given is the beginning of each file. None: something else differs.
    """
    there, wanted = tree(mirror), tree(source)
    count = 0
    for path, data in wanted.items():
        if path.endswith(".idx"):
            all_of_them, given = entries(data), entries(there[path]) if path in there else []
            if all_of_them[: len(given)] != given:
                return None
            count += len(all_of_them) - len(given)
        elif not path.endswith("/metadata") and not data.startswith(there.get(path, b"")):
            return None
    return count if all(path in wanted for path in there) else None


def compare(mirror, source, cleared=False):
    """What differs between the mirror and the relay's folder. `cleared`: the mirror has more, from before."""
    there, wanted = tree(mirror), as_turns(tree(source))
    out = []
    for path, data in sorted(wanted.items()):
        if path.endswith(".idx"):
            if not entries(data):
                continue
            tried = [path] + [path[:-4] + ".%d.idx" % n for n in range(1, 20)]
            same = [p for p in tried if p in there and entries(there[p]) == entries(data)]
        elif not data or (cleared and path.endswith("/metadata")):
            continue  # the relay gives no metadata again, and after a clear that of its folder has other packets
        else:
            tried = [path] + [path + ".%d" % n for n in range(1, 20)]
            same = [p for p in tried if p in there and there[p] == data]
        if not same:
            out.append("%s: %s, not %d bytes" % (path, [len(there[p]) for p in tried if p in there], len(data)))
    extra = [path for path in there if path not in wanted]
    if not cleared and extra:
        out.append("too much: %s" % extra)
    return "; ".join(out[:6])


def events(folder):
    done = subprocess.run([results.yore, "events", folder, "--no-index", "--format", "json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    # a stream is called as its file, and limited trace files have other names in the mirror
    return done.returncode, re.sub(rb'"stream":"[^"]*",', b"", done.stdout)


def attach(rig, session, folder, *words):
    return subprocess.Popen([results.yore, "attach", rig.url(session), folder, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def until(check):
    return results.until(check, pause=0.05)


def settle(seconds):
    """What is traced has come to the relay and to the mirror, whose program may only just begin."""
    time.sleep(max(seconds, 4 * results.startup()))


def finish_mirror(name, rig, session, folder, process, cleared=False, processes=False):
    out, said = process.communicate(timeout=results.HANGS)
    if processes and process.returncode == 0 and compare(folder, rig.finished(session)):
        missing = left_out(folder, rig.finished(session))
        result(missing is not None, "%s: all but %s packets that the relay did not give" % (name, missing), out + said)
        return
    wrong = compare(folder, rig.finished(session), cleared)
    if process.returncode:
        wrong = "exit status %d: %s; %s" % (process.returncode, said.decode()[-400:], wrong)
    if not wrong and not cleared:
        ours, theirs = events(folder), events(rig.finished(session))
        if ours != theirs or not ours[1]:
            wrong = "events differ: %d and %d bytes" % (len(ours[1]), len(theirs[1]))
    result(not wrong, name, wrong + " " + out.decode())


def lines_of(text):
    """Times and texts of babeltrace2's lines, in order, without what numbers packets."""
    found = []
    for line in text.splitlines():
        at = re.search(r"\[([0-9.]+)\]", line)
        what = re.search(r'(lttng_ust_\w+:\w+): .*(msg = ".*?")', line)
        if at and what:
            found.append((at.group(1), what.group(1), what.group(2)))
    return found


def one_session(rig, name, *channel, kills=0, seed=0):
    """Programs begin and end while it is mirrored."""
    rng = random.Random(seed)
    session, folder = name.replace(" ", "-"), os.path.join(rig.home, "mirrors", name.replace(" ", "-"))
    rig.create(session, *channel)
    process = attach(rig, session, folder)
    running = [rig.trace(400, 2, 500, wait=False)]
    for _ in range(3):
        time.sleep(rng.uniform(0.1, 0.4))
        running.append(rig.trace(rng.choice([20, 300, 2000]), rng.choice([1, 3]), 200, wait=False))
    for _ in range(kills):
        time.sleep(results.startup() + rng.uniform(0.02, 0.3))
        process.kill()
        process.communicate()
        process = attach(rig, session, folder)
    for one in running:
        one.wait()
    # a mirror that is killed has to be attached again before the session is destroyed
    until(lambda: os.path.isdir(folder) and any(n.endswith(".idx") for n in tree(folder)))
    settle(1.0)
    rig.lttng("destroy", session)
    finish_mirror(name, rig, session, folder, process, processes="--buffers-pid" in channel)


def program_ends_before_destroy(rig):
    """Per-process buffers of a program that is gone: its streams hang up while the session goes on."""
    session, folder = "short", os.path.join(rig.home, "mirrors", "short")
    rig.create(session, "--buffers-pid")
    process = attach(rig, session, folder)
    for _ in range(5):
        rig.trace(30, 1, 0)
        settle(0.4)
    rig.lttng("destroy", session)
    out, said = process.communicate(timeout=results.HANGS)
    missing = left_out(folder, rig.finished(session))
    result(process.returncode == 0 and missing is not None and tree(folder),
           "programs that end: all but %s packets that the relay did not give" % missing, "%s %s" % (out, said))


def cleared(rig):
    session, folder = "cleared", os.path.join(rig.home, "mirrors", "cleared")
    rig.create(session, "--buffers-uid")
    process = attach(rig, session, folder)
    rig.trace(300, 2, 100)
    until(lambda: os.path.isdir(folder) and sum(len(d) for p, d in tree(folder).items() if p.endswith(".idx")) > 16)
    settle(0.5)
    before = tree(folder)
    rig.lttng("clear", session)
    rig.trace(300, 2, 100)
    settle(0.6)
    rig.lttng("destroy", session)
    finish_mirror("lttng clear", rig, session, folder, process, cleared=True)
    after = tree(folder)
    result(all(after.get(path, b"").startswith(data) for path, data in before.items() if not path.endswith("metadata")),
           "what was there before the clear stays", sorted(after))
    status, out = events(folder)
    result(status == 0 and out.count(b'"name":"lttng_ust_tracef:event"') >= 600, "and its events are read",
           "%d %d" % (status, out.count(b'"name":"lttng_ust_tracef:event"')))


def beside_babeltrace2(rig):
    """One viewer may be attached to a session: babeltrace2 sees one, and yore another, of the same calls."""
    if not shutil.which("babeltrace2"):
        say("SKIP: babeltrace2 is not installed")
        return
    folder = os.path.join(rig.home, "mirrors", "ours")
    rig.create("ours", "--buffers-uid")
    process = attach(rig, "ours", folder)
    rig.trace(800, 2, 500)
    settle(0.6)
    rig.lttng("destroy", "ours")
    finish_mirror("beside babeltrace2", rig, "ours", folder, process)
    rig.create("theirs", "--buffers-uid")  # after it: with two sessions, `lttng destroy` of the first waits for ever (2.13.9)
    other = subprocess.Popen(["babeltrace2", "--clock-seconds", "--no-delta", rig.url("theirs")], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=dict(os.environ, LC_ALL="C"))
    rig.trace(800, 2, 500)
    settle(0.6)
    rig.lttng("destroy", "theirs")
    try:
        out, _ = other.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        other.kill()
        out, _ = other.communicate()
    live = lines_of(out.decode())
    whole = subprocess.run(["babeltrace2", "--clock-seconds", "--no-delta", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           check=False)
    ours = lines_of(whole.stdout.decode())
    finished = subprocess.run(["babeltrace2", "--clock-seconds", "--no-delta", rig.finished("ours")], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
    result(whole.returncode == 0 and len(ours) > 1000 and ours == lines_of(finished.stdout.decode()),
           "babeltrace2 reads the mirror as it reads the relay's folder", "%d events: %s" % (len(ours), whole.stderr.decode()[:300]))
    # the two sessions record the same calls, at times of their own
    texts = sorted(item[1:] for item in ours)
    result(sorted(item[1:] for item in live) == texts, "babeltrace2's lttng-live saw the same events", "%d and %d" % (len(live), len(texts)))


def relay_killed(rig):
    """The relay ends: what it gave is whole, and that it is gone is told."""
    session, folder = "killed", os.path.join(rig.home, "mirrors", "killed")
    rig.create(session, "--buffers-uid")
    process = attach(rig, session, folder, "--retry", "1")
    program = rig.trace(3000, 2, 500, wait=False)
    until(lambda: os.path.isdir(folder) and sum(len(d) for p, d in tree(folder).items() if p.endswith(".idx")) > 100)
    rig.relay.send_signal(signal.SIGKILL)
    out, said = process.communicate(timeout=results.HANGS)
    program.kill()
    program.wait()
    source = tree(rig.finished(session))
    wrong = [path for path, data in tree(folder).items() if not path.endswith(".idx") and not source.get(path, b"").startswith(data)]
    result(process.returncode == 1 and not wrong and b"127.0.0.1" in said, "the relay is killed", "%s %s %s" % (wrong, out, said))
    status, rows = events(folder)
    result(status == 0 and rows.count(b"\n") > 100, "and what it gave is read", "%d %d" % (status, rows.count(b"\n")))


def followed(rig):
    """A program on one CPU: the other CPUs' streams are idle, and the relay's beacons say so. A patience of a minute is not used."""
    timer, folder = 0.2, os.path.join(rig.home, "mirrors", "followed")
    rig.create("followed", "--buffers-uid", timer=int(timer * 1e6))
    os.makedirs(folder)
    follower = subprocess.Popen([results.yore, "events", folder, "--follow", "--patience", "60s", "--format", "json"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lags, rows = [], []

    def read():
        for line in follower.stdout:
            lags.append(time.time() - int(re.search(rb'"ts":(\d+)', line)[1]) / 1e9)
            rows.append(line)

    reader = threading.Thread(target=read)
    reader.start()
    process = attach(rig, "followed", folder)
    cpu = min(os.sched_getaffinity(0))
    traced = subprocess.Popen(["taskset", "-c", str(cpu), rig.program, "300", "1", "10000"], cwd=rig.home, env=rig.environment,
                              stdout=subprocess.DEVNULL, **rig.user)
    traced.wait()
    ran = until(lambda: len(rows) >= 300)  # and only then is the session at its end
    rig.lttng("destroy", "followed")
    out, said = process.communicate(timeout=results.HANGS)
    reader.join(results.HANGS)
    noted = follower.stderr.read()
    status = follower.wait(results.HANGS)
    whole = subprocess.run([results.yore, "events", folder, "--no-index", "--format", "json"], stdout=subprocess.PIPE, check=False).stdout
    result((process.returncode, status) == (0, 0) and b"".join(rows) == whole and b"late" not in noted, "a follower has the rows of the whole mirror",
           "%s %s %s, %d rows" % (out, said, noted, len(rows)))
    result(ran and lags and max(lags) < max(10, 40 * results.startup()), "rows come within the live timer, not the patience", "%d rows, lag %.3f s at most" % (len(rows), max(lags, default=0)))
    if lags:
        say("# behind their event, timer %.1f s: median %.0f ms, most %.0f ms" % (timer, 1e3 * sorted(lags)[len(lags) // 2], 1e3 * max(lags)))


def main():
    try:
        with Rig() as rig:
            os.makedirs(os.path.join(rig.home, "mirrors"))
            if sys.argv[1:]:
                for name in sys.argv[1:]:
                    globals()[name](rig)
                finish()
            done = subprocess.run([results.yore, "sessions", rig.relay_place()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            result(done.returncode == 0 and b"has no session" in done.stderr, "no session yet", done)
            one_session(rig, "per user", "--buffers-uid")
            one_session(rig, "per process", "--buffers-pid", seed=1)
            one_session(rig, "small packets", "--buffers-uid", "--subbuf-size=4096", "--num-subbuf=8", seed=2)
            one_session(rig, "limited trace files", "--buffers-uid", "--subbuf-size=4096", "--num-subbuf=8", "--tracefile-size=65536",
                        "--tracefile-count=40", seed=3)
            for seed in range(2):
                one_session(rig, "mirror killed %d" % seed, "--buffers-uid" if seed else "--buffers-pid", kills=4, seed=10 + seed)
            program_ends_before_destroy(rig)
            cleared(rig)
            beside_babeltrace2(rig)
            followed(rig)
            relay_killed(rig)
    except Missing as why:
        say("SKIP: %s: no real relay was asked" % why)
        if results.failed:
            finish()
        sys.exit(77)
    finish()


if __name__ == "__main__":
    main()
