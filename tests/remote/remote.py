#!/usr/bin/env python3
"""Traces behind HTTP and in tar archives answer as those of this machine do; a server that misbehaves is one clear error.

The judge of all answers is yore itself on the same files, locally; of bytes and requests, the server's count.
"""
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
import results
from results import finish, result, top
from server import Server

GEN = os.path.join(os.environ.get("top_builddir", "."), "fixtures", "yore-gen")
GOLDEN = os.path.join(top, "fixtures", "golden")


def yore(cache, *words, env=None, timeout=results.HANGS):
    environment = dict(os.environ, XDG_CACHE_HOME=cache, **(env or {}))
    environment.pop("YORE_INDEX_DIR", None)
    done = subprocess.run([results.yore, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, env=environment)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def stats_of(said):
    return json.loads([line for line in said.splitlines() if line.startswith("{")][-1])


def generate(folder, *options):
    subprocess.run([GEN, "--out", folder, "--no-truth", *options], check=True, stdout=subprocess.DEVNULL)


QUESTIONS = (("events", "--format", "json"), ("stats",), ("state", "**", "--format", "csv"), ("events", "--begin", "+1ms", "--end", "+2ms", "--reverse"))


def answers(cache, trace):
    out = []
    for question in QUESTIONS:
        status, rows, said = yore(cache, question[0], trace, *question[1:])
        said = re.sub(r"^yore: (note|warning|damaged): \S*: ", "", said, flags=re.M)
        out.append((status, rows, len(said.splitlines())))
    return out


def same(work, name, local, *others):
    """All of `others` answer as the local one does."""
    cache = os.path.join(work, "cache-" + re.sub(r"\W", "-", name))
    wanted = answers(cache, local)
    for other in others:
        got = answers(cache, other)
        wrong = [QUESTIONS[i] for i in range(len(wanted)) if wanted[i] != got[i]]
        kind = "tar" if other.endswith(".tar") else "HTTP"
        result(not wrong and wanted[0][1], "%s by %s" % (name, kind),
               "%s: %s" % (other, [(q, wanted[QUESTIONS.index(q)][0], got[QUESTIONS.index(q)][0], wanted[QUESTIONS.index(q)][1][:200],
                                   got[QUESTIONS.index(q)][1][:200]) for q in wrong]))


def manifest(cache, folder):
    status, _, said = yore(cache, "index", "--manifest", folder)
    assert status == 0, said


def archive(path, name, of, form=tarfile.USTAR_FORMAT):
    with tarfile.open(path, "w", format=form) as out:
        out.add(of, arcname=name)
    return path


def formats(work):
    """Folders and files of all formats that ship: over HTTP, in an archive here, in an archive there."""
    served, cache = os.path.join(work, "served"), os.path.join(work, "cache")
    shutil.copytree(GOLDEN, served, symlinks=False, ignore=shutil.ignore_patterns("*.json", "*.md"))
    generate(served + "/made", "--size", "300K", "--packet-size", "4K", "--cpus", "4", "--lose", "0.1")
    wanted = ["made", "demo/trace.dat"]
    for name in sorted(os.listdir(served)):
        path = os.path.join(served, name)
        for inner in (path, *(os.path.join(path, other) for other in (sorted(os.listdir(path)) if os.path.isdir(path) else ()))):
            relative = os.path.relpath(inner, served)
            if relative not in wanted and not relative.endswith("/metadata") and not re.search(r"\.(tar|rules|lua|txt|csv|sh|map)$", inner) and yore(cache, "events", inner, "--count")[0] == 0:
                wanted.append(relative)
    with Server(served) as server:
        for relative in wanted:
            path = os.path.join(served, relative)
            folder = os.path.isdir(path)
            if folder:
                manifest(cache, path)
            form = random.Random(relative).choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
            tar = archive("%s/%d.tar" % (served, wanted.index(relative)), "a/b/" + os.path.basename(path) if folder else os.path.basename(path), path, form)
            same(work, relative, path, server.url(relative + ("/" if folder else "")), tar, server.url(os.path.basename(tar)))
    result(len(wanted) > 5, "several formats were asked", wanted)


def catalogs(work):
    """A URL is one trace of a catalog, by the name that it was given."""
    served, cache = os.path.join(work, "listed"), os.path.join(work, "listed-cache")
    os.makedirs(served)
    generate(served + "/made", "--size", "60K", "--packet-size", "4K")
    manifest(cache, served + "/made")
    query = "SELECT trace, count(*) FROM events"
    count = yore(cache, "sql", served + "/made", "SELECT count(*) FROM events")[1]
    with Server(served) as server:
        url = server.url("made/")
        result(yore(cache, "sql", "--catalog", url, query, "--format", "csv")[:2] == (0, "trace,count(*)\n%s,%s" % (url, count)),
               "a folder behind HTTP is asked as a catalog", yore(cache, "sql", "--catalog", url, query))
        status, out, said = yore(cache, "catalog", url, "--format", "csv")
        result(status == 0 and out.splitlines()[1].startswith(url + ",ctf,"), "and is listed as one", (status, out, said))
        tmp = os.path.join(work, "listed-tmp")
        os.makedirs(tmp)
        tar = archive(work + "/listed.tar", "t", served + "/made")
        for words in (("stats", url), ("stats", tar), ("events", tar, "--name", "nothing"), ("sql", "--catalog", url, query), ("catalog", tar)):
            status, out, said = yore(cache, *words, "--no-index", env={"TMPDIR": tmp})
            result(not os.listdir(tmp), "without an index nothing is left: %s" % words[0], (words, status, said, os.listdir(tmp)))
        status, out, said = yore(cache, "events", url, "--follow")
        result(status == 2 and "--follow takes traces of this machine" in said, "it is not followed", (status, said))


def large(work):
    """A moment costs a few requests, and the second question none of the files' bytes."""
    folder, cache = work + "/large/trace", work + "/large-cache"
    os.makedirs(work + "/large")
    generate(folder, "--size", "40M", "--packet-size", "32K")
    manifest(cache, folder)
    local = yore(cache, "at", folder, "+100ms", "cpu[3]/thread")[1]
    with Server(work + "/large") as server:
        status, out, said = yore(cache, "at", server.url("trace/"), "+100ms", "cpu[3]/thread", "--stats")
        stats = stats_of(said)
        result(status == 0 and out == local and stats["bytes_fetched"] <= server.sent < 4e6 and stats["requests"] <= len(server.log) + 16,
               "a first answer fetches little", "%s %s sent %d in %d" % (out, stats, server.sent, len(server.log)))
        server.forget()
        status, out, said = yore(cache, "at", server.url("trace/"), "+100ms", "cpu[3]/thread", "--stats")
        result(status == 0 and out == local and server.sent == 0 and server.rounds() <= 10, "a second one fetches nothing", "%s %d %d" % (out, server.sent, server.rounds()))
        # what is kept is compared before it is believed
        for place, _, names in os.walk(cache):
            for name in names:
                if name.endswith(".blocks"):
                    with open(os.path.join(place, name), "r+b") as file:
                        size = os.fstat(file.fileno()).st_size
                        at = 0
                        try:
                            while at < size:
                                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
                                file.seek(at + 100)
                                byte = file.read(1)
                                file.seek(at + 100)
                                file.write(bytes([byte[0] ^ 0x40]))
                                at += 4096
                        except (OSError, IndexError):
                            pass
        server.forget()
        status, out, said = yore(cache, "at", server.url("trace/"), "+100ms", "cpu[3]/thread")
        result(status == 0 and out == local and server.sent > 0, "damage of what was kept is fetched again", "%d %s %s" % (status, out, said))
        # another trace in its place
        shutil.rmtree(folder)
        generate(folder, "--size", "40M", "--packet-size", "32K", "--seed", "9")
        manifest(cache, folder)
        wanted = yore(cache, "events", folder, "--end", "+1ms")[1]
        got = yore(cache, "events", server.url("trace/"), "--end", "+1ms")[1]
        result(got == wanted and wanted, "a trace that was replaced is fetched anew")
        del server.tags
        server.tags = False
        got = yore(cache, "events", server.url("trace/"), "--end", "+1ms")[1]
        result(got == wanted, "a server without ETags")
        server.tags = None
        got = yore(cache, "events", server.url("trace/"), "--end", "+1ms")[1]
        server.forget()
        again = yore(cache, "events", server.url("trace/"), "--end", "+1ms")[1]
        result(got == wanted == again and server.sent == 0, "a server with Last-Modified", server.sent)


TRIPS_OF_ALL = 12  # of an attribute of each of 8 CPUs
TRIPS, SENT = 8, 4e6  # of a first answer with the name of the thread, whose packets may be in any of 8 streams


def first_answers(work):
    """A first answer with a name costs few requests that wait for one another, and is that of the local file."""
    folder, cache, rng = work + "/first/trace", work + "/first-cache", random.Random(5)
    os.makedirs(work + "/first")
    generate(folder, "--size", "96M", "--packet-size", "256K", "--cpus", "8")
    manifest(cache, folder)
    rows = yore(cache, "sql", folder, "SELECT first, last FROM packets", "--format", "csv", "--no-index")[1].split()[1:]
    begins, ends = zip(*(map(int, row.split(",")) for row in rows))
    edge = (max(ends) - min(begins)) // 10
    inner = [begin for begin in begins if min(begins) + edge < begin < max(ends) - edge]

    def ask(trace, moment, path="cpu[3]/thread"):
        return yore(cache, "at", trace, "@%d" % moment, path, "--no-index", "--format", "csv")[:2]

    with Server(work + "/first") as server:
        wrong = []
        for i in range(40):
            moment = rng.choice(inner) + rng.randrange(-20000, 20000) if i % 2 else rng.randrange(min(inner), max(inner))
            path = rng.choice(("cpu[3]/thread", "cpu[5]/thread", "cpu[*]/thread", "cpu[2]/irq"))
            local, far = ask(folder, moment, path), ask(server.url("trace/"), moment, path)
            if local != far or local[0] != 0:
                wrong.append((moment, path, local, far))
        result(not wrong, "first answers by HTTP are those of the file", wrong[:3])
        cost = []

        def least(moment, path, trips):
            """The least of several tries: a busy machine sends requests late, so each try has a longer delay."""
            tries = []
            while len(tries) < 5 and (not tries or min(tries)[0] > trips):
                server.forget()
                server.delay = 0.05 * 2 ** len(tries)
                ask(server.url("trace/"), moment, path)
                tries.append((server.rounds(), server.sent))
            return min(tries)

        while len(cost) < 4:
            moment = rng.randrange(min(inner), max(inner))
            if ask(folder, moment)[1].splitlines()[1].split(",")[2] == "0":
                continue  # the idle thread's name is known without reading
            cost.append(least(moment, "cpu[3]/thread", TRIPS))
        every = [least(rng.randrange(min(inner), max(inner)), "cpu[*]/thread", TRIPS_OF_ALL) for _ in range(4)]
        result(all(trips <= TRIPS_OF_ALL and sent < SENT for trips, sent in every), "the packets of all CPUs are fetched together", every)
        result(all(trips <= TRIPS and sent < SENT for trips, sent in cost), "a first answer with a name takes few trips", cost)


def faults(work):
    """Each fault of a server is one error that names the file and the cause; what passes is tried again."""
    folder = work + "/faults/trace"
    os.makedirs(work + "/faults")
    generate(folder, "--size", "2M", "--packet-size", "32K", "--cpus", "2")
    manifest(work + "/c", folder)
    local = yore(work + "/c", "events", folder)[1]
    rows = (("503", "the server says 503"), ("403", "refuses it (403)"), ("404", "no such file"), ("cut", ""), ("whole", "it has no ranges"),
            ("elsewhere", "redirects to another one"), ("other bytes", "other bytes than"), ("few bytes", "fewer bytes than"), ("long", "more than was asked for"),
            ("changed", "changed while it was read"))
    for fault, text in rows:
        for when in ("always", "behind the heads"):
            cache = work + "/faults-" + fault.replace(" ", "") + when[:2]
            hit = lambda method, path, asked, f=fault, w=when: f if path.endswith("channel0_1") and (w == "always" or (asked and asked[0] >= 32768)) else None
            with Server(work + "/faults", fault=hit) as server:
                status, out, said = yore(cache, "events", server.url("trace/"))
                errors = [line for line in said.splitlines() if not line.startswith("yore: note")]
                if when == "always":
                    good = status in (1, 3) and text in said and "channel0_1" in said and len(errors) == 1
                    if fault == "changed":
                        good = status in (1, 3) and "channel0_1" in said
                else:
                    good = status in (1, 3) and text in said and "channel0_1" in said
                result(good, "a fault, %s: %s" % (when, fault), "%d %s" % (status, said[:600]))
                server.fault = None
                status, out, said = yore(cache, "events", server.url("trace/"))
                result((status, out) == (0, local), "and without it all is well: " + fault, "%d %s" % (status, said[:600]))
    shutil.copyfile(os.path.join(GOLDEN, "sched-perf", "perf.data"), work + "/faults/perf.data")
    for fault, text in (("403", "refuses it (403)"), ("changed", "changed while it was read")):
        hit = lambda method, path, asked, f=fault: f if asked and asked[0] >= 4096 else None
        with Server(work + "/faults", fault=hit) as server:
            status, out, said = yore(work + "/faults-perf" + fault, "events", server.url("perf.data"))
            told = [line for line in said.splitlines() if "cannot be read: " in line and text in line]
            result(status in (1, 3) and any("the features at offset" in line for line in told) and "beyond the end" not in said,
                   "features that cannot be read are not beyond the end: " + fault, "%d %s" % (status, said[:900]))
    for fault in ("503", "cut"):
        seen = {}

        def once(method, path, asked, f=fault, s=seen):
            key = (path, asked)
            s[key] = s.get(key, 0) + 1
            return f if s[key] <= 2 else None

        with Server(work + "/faults", fault=once) as server:
            status, out, said = yore(work + "/faults-once" + fault, "events", server.url("trace/"))
            result((status, out) == (0, local), "a fault that passes is tried again: " + fault, "%d %s" % (status, said[:600]))
    with Server(work + "/faults", fault=lambda method, path, asked: None if path.startswith("real/") else "moved") as server:
        os.symlink(".", work + "/faults/real")
        status, out, said = yore(work + "/faults-moved", "events", server.url("trace/"))
        result((status, out) == (0, local), "a redirection on the same server is followed", "%d %s" % (status, said[:600]))
        os.unlink(work + "/faults/real")
    with Server(work + "/faults", fault=lambda method, path, asked: "no size" if method == "HEAD" else None) as server:
        for _ in range(2):
            status, out, said = yore(work + "/faults-size", "events", server.url("trace/"))
        result(status in (0, 1) and (out == local or "does not tell its size" in said), "a server that tells no size", "%d %s" % (status, said[:600]))
    status, _, said = yore(work + "/faults-none", "events", "http://127.0.0.1:1/trace/")
    result(status == 1 and "127.0.0.1:1/trace/yore-manifest.json" in said and "connect" in said.lower(), "nobody listens", said)
    with Server(work + "/faults") as server:
        os.rename(folder + "/yore-manifest.json", folder + "/x")
        status, _, said = yore(work + "/faults-manifest", "events", server.url("trace/"))
        result(status == 1 and "yore index --manifest" in said, "a folder without a manifest", said)
        os.rename(folder + "/x", folder + "/yore-manifest.json")
        status, _, said = yore(work + "/faults-nothing", "events", server.url("trace"))
        result(status == 1 and "no such file" in said, "a folder without the slash", said)
    stop(work)


def stop(work):
    """Ctrl-C while heads, and while packets, do not come."""
    for which, slow in (("heads", lambda asked: True), ("packets", lambda asked: asked and asked[0])):
        stop_at(work, which, slow)


def stop_at(work, which, slow):
    with Server(work + "/faults", fault=lambda method, path, asked: "slow" if slow(asked) else None) as server:
        environment = dict(os.environ, XDG_CACHE_HOME=work + "/stop-" + which)
        process = subprocess.Popen([results.yore, "events", server.url("trace/")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
        results.until(lambda: len(server.heads) >= (1 if which == "heads" else 5) or process.poll() is not None)
        results.catches(process)
        time.sleep(0.3)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        try:
            said = process.communicate(timeout=results.HANGS)[1].decode()
        except subprocess.TimeoutExpired:
            process.kill()
            said = "it did not end"
        result(process.returncode == 130 and time.monotonic() - begin < max(5, 20 * results.startup()), "Ctrl-C ends waiting for a slow server: " + which, "%s %s" % (process.returncode, said))


def secrets(work):
    """Credentials come from the environment, and stand in no message and no file."""
    folder, cache = work + "/secret/trace", work + "/secret-cache"
    os.makedirs(work + "/secret")
    generate(folder, "--size", "100K", "--cpus", "2")
    manifest(work + "/c2", folder)
    local = yore(work + "/c2", "events", folder)[1]
    with Server(work + "/secret", token="s3cr3t-t0k3n") as server:
        status, _, said = yore(cache, "events", server.url("trace/"))
        result(status == 1 and "YORE_HTTP_TOKEN" in said, "a server that wants a token", said)
        status, out, said = yore(cache, "events", server.url("trace/"), "--stats", "--debug=all", env={"YORE_HTTP_TOKEN": "s3cr3t-t0k3n"})
        kept = b"".join(open(os.path.join(place, name), "rb").read() for place, _, names in os.walk(cache) for name in names)
        result((status, out) == (0, local) and "s3cr3t" not in said and b"s3cr3t" not in kept, "a token is sent, and kept nowhere", "%d %s" % (status, said[:500]))
    with Server(work + "/secret") as server:
        server.heads.clear()
        status, out, said = yore(work + "/secret-signed", "events", server.url("trace/channel0_0?X-Signature=s3cr3t"))
        kept = b"".join(open(os.path.join(place, name), "rb").read() for place, _, names in os.walk(work + "/secret-signed") for name in names)
        result(status == 1 and "s3cr3t" not in re.sub(r"^.*--help.*$", "", said) and b"s3cr3t" not in kept, "a signature in a URL is kept nowhere", said)
    for url, text in (("http://user:pw@127.0.0.1/t/", "credentials"), ("http:///x", "not the URL"), ("s3://", "not the URL")):
        status, _, said = yore(cache, "events", url)
        result(status in (1, 2) and text in said and "pw@" not in said, "a wrong URL: " + url, "%d %s" % (status, said))
    for path in ("../x", "/etc/passwd", "a/../../b", "", "a\n", "x" * 300):
        os.makedirs(work + "/evil/t", exist_ok=True)
        with open(work + "/evil/t/yore-manifest.json", "w", encoding="ascii") as file:
            json.dump({"yore-manifest": 1, "files": [{"path": path, "size": 10}]}, file)
        with Server(work + "/evil") as server:
            status, _, said = yore(work + "/evil-cache", "events", server.url("t/"))
            result(status == 1 and "leads out of it" in said, "a manifest that names %r" % path[:20], said)
    for text in ("", "{", "[]", '{"yore-manifest":2,"files":[]}', '{"yore-manifest":1}', '{"yore-manifest":1,"files":[]}', '{"yore-manifest":1,"files":[{"path":"a"}]}',
                 '{"yore-manifest":1,"files":[{"path":"a","size":-1}]}', '{"yore-manifest":1,"files":[1]}', "[" * 100000):
        with open(work + "/evil/t/yore-manifest.json", "w", encoding="ascii") as file:
            file.write(text)
        with Server(work + "/evil") as server:
            status, _, said = yore(work + "/evil-cache2", "events", server.url("t/"))
            result(status == 1 and "yore-manifest.json" in said and len(said.splitlines()) == 1, "a manifest of %r" % text[:40], said)


def archives(work):
    """Archives that are damaged or odd."""
    folder, cache = work + "/tars", work + "/tars-cache"
    os.makedirs(folder)
    generate(folder + "/trace", "--size", "60K", "--packet-size", "4K", "--cpus", "2")
    tar = archive(folder + "/t.tar", "t", folder + "/trace")
    whole = open(tar, "rb").read()
    local = yore(cache, "events", tar)[1]
    result(local == yore(cache, "events", folder + "/trace")[1] and local, "an archive answers as its folder")
    bad = []
    for size in list(range(0, 5120, 128)) + [len(whole) * i // 20 for i in range(20)]:
        with open(folder + "/cut.tar", "wb") as file:
            file.write(whole[:size])
        status, _, said = yore(cache, "events", folder + "/cut.tar", "--count")
        if status not in (0, 1, 3) or (status == 0 and size < 3000):
            bad.append((size, status, said[:200]))
    result(not bad, "archives that are cut", bad[:3])
    rng, bad = random.Random(5), []
    for _ in range(60):
        data = bytearray(whole)
        head = rng.choice((0, 512, 1024, len(whole) // 3))
        for _ in range(rng.randrange(1, 4)):
            data[(head + rng.randrange(512)) % len(data)] = rng.randrange(256)
        with open(folder + "/odd.tar", "wb") as file:
            file.write(data)
        status, _, said = yore(cache, "events", folder + "/odd.tar", "--count")
        if status not in (0, 1, 3):
            bad.append((status, said[:200]))
    result(not bad, "archives with wrong bytes", bad[:3])
    for name in ("../out", "/abs", "a/../../b", "a\nb"):
        info = tarfile.TarInfo(name)
        info.size = 4
        with tarfile.open(folder + "/evil.tar", "w") as out:
            out.addfile(info, io.BytesIO(b"evil"))
        status, _, said = yore(cache, "events", folder + "/evil.tar")
        result(status == 1 and "leads out of the archive, has control characters" in said, "an archive with the name %r" % name, said)
    long_name = "d" * 90 + "/" + "e" * 90 + "/" + "f" * 90
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        archive(folder + "/long.tar", long_name, folder + "/trace", form)
        status, out, said = yore(cache, "events", folder + "/long.tar")
        result((status, out) == (0, local), "an archive with long names", "%d %s" % (status, said))
    # changed in place: nothing of the older one is believed
    generate(folder + "/trace2", "--size", "60K", "--packet-size", "4K", "--cpus", "2", "--seed", "7")
    archive(tar, "t", folder + "/trace2")
    result(yore(cache, "events", tar)[1] == yore(cache, "events", folder + "/trace2")[1] != local, "an archive that was replaced")


def prefixes(work):
    """A folder of S3 without a manifest is what the store lists; lists that are wrong are one error."""
    folder, cache = work + "/store/traces/boot 1&2", work + "/prefix-cache"
    os.makedirs(folder)
    generate(folder, "--size", "1M", "--cpus", "3")
    local = yore(cache, "events", folder)[1]
    with Server(work + "/store") as server:
        server.page = 2
        env = {"AWS_ENDPOINT_URL": server.url()[:-1]}

        def asked(where=None, url="s3://traces/boot 1&2/"):
            return yore(where or cache, "events", url, env=env)

        result(asked()[:2] == (0, local) and local, "a prefix of S3 without a manifest")
        server.forget()
        result(asked()[:2] == (0, local) and server.sent < 4000, "and again: nothing but lists", server.sent)
        generate(work + "/other", "--size", "1M", "--cpus", "3", "--seed", "8")
        shutil.copy(work + "/other/channel0_0", folder + "/channel0_0")
        shutil.copy(work + "/other/metadata", folder + "/metadata")
        result(asked()[1] == yore(work + "/c3", "events", folder)[1] != local, "an object that was replaced")
        os.unlink(folder + "/channel0_1")
        local = yore(work + "/c4", "events", folder)[1]
        result(asked()[:2] == (0, local), "an object that is gone")
        os.makedirs(folder + "/empty")
        open(folder + "/empty/x", "w", encoding="ascii").close()
        status, out, said = asked(url="s3://traces/nothing/")
        result(status == 1 and "no object below it" in said, "a prefix of nothing", said)
        rows = (("no XML", lambda text: text[:-9], "is no XML"), ("another document", lambda text: "<x/>", "another document"), ("an empty answer", lambda text: "", "is no XML"),
                ("no size", lambda text: re.sub("<Size>[0-9]*", "<Size>", text), "lacks a key or a size"), ("a negative size", lambda text: text.replace("<Size>", "<Size>-"), "lacks a key or a size"),
                ("a key elsewhere", lambda text: text.replace("boot 1&amp;2/", "boot/"), "does not begin with the prefix"),
                ("a key that leads out", lambda text: text.replace("boot 1&amp;2/c", "boot 1&amp;2/../c"), "leads out of the folder"),
                ("no token", lambda text: re.sub("<NextC.*Token>", "", text), "does not say where"),
                ("a document type", lambda text: text.replace("<ListB", "<!DOCTYPE a [<!ENTITY e 'x'>]><ListB", 1), "has a document type"),
                ("deep nesting", lambda text: text.replace("<Name>", "<a>" * 50 + "</a>" * 50 + "<Name>"), "nested too deep"),
                ("a long key", lambda text: text.replace("<Key>", "<Key>" + "x" * 9000), "too long"))
        for name, change, wanted in rows:
            server.listing = change
            status, out, said = asked(work + "/prefix-" + name.replace(" ", ""))
            result(status == 1 and wanted in said and len(said.splitlines()) == 1, "a list of S3: " + name, "%d %s" % (status, said[:500]))


def s3(work):
    """Signed requests, judged by a server that is not ours: s3rver from npm (tests/oracle/npm.sh installs it)."""
    program = os.path.join(os.environ.get("YORE_NPM", os.path.expanduser("~/.cache/yore-npm")), "node_modules", ".bin", "s3rver")
    if not os.path.exists(program) or not shutil.which("curl"):
        print("SKIP: S3: no curl, or no s3rver in YORE_NPM")
        return
    folder, cache, port = work + "/s3/trace", work + "/s3-cache", random.randrange(20000, 60000)
    os.makedirs(work + "/s3/data")
    generate(folder, "--size", "1M", "--cpus", "2")
    manifest(cache, folder)
    local = yore(cache, "events", folder)[1]
    server = subprocess.Popen([program, "-d", work + "/s3/data", "-a", "127.0.0.1", "-p", str(port), "--configure-bucket", "traces", "-s"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for name in os.listdir(folder):
            if os.path.isfile(os.path.join(folder, name)):
                subprocess.run(["curl", "-sSf", "--retry", "20", "--retry-connrefused", "--retry-delay", "1", "-T", os.path.join(folder, name), "--aws-sigv4",
                                "aws:amz:us-east-1:s3", "--user", "S3RVER:S3RVER", "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD",
                                "http://127.0.0.1:%d/traces/boot%%201/%s" % (port, name)], check=True, stdout=subprocess.DEVNULL)
        keys = {"AWS_ENDPOINT_URL": "http://127.0.0.1:%d" % port, "AWS_ACCESS_KEY_ID": "S3RVER", "AWS_SECRET_ACCESS_KEY": "S3RVER"}
        status, out, said = yore(cache, "events", "s3://traces/boot 1/", env=keys)
        result((status, out) == (0, local) and local, "a folder of S3", "%d %s" % (status, said))
        subprocess.run(["curl", "-sSf", "-X", "DELETE", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", "S3RVER:S3RVER", "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD",
                        "http://127.0.0.1:%d/traces/boot%%201/yore-manifest.json" % port], check=True, stdout=subprocess.DEVNULL)
        status, out, said = yore(cache, "events", "s3://traces/boot 1/", env=keys)
        result((status, out) == (0, local), "a folder of S3 without a manifest", "%d %s" % (status, said))
        status, _, said = yore(work + "/s3-wrong", "events", "s3://traces/boot 1/", env=dict(keys, AWS_ACCESS_KEY_ID="wrong"))
        result(status == 1 and "AWS_SECRET_ACCESS_KEY" in said and "wrong" not in said, "a wrong key of S3", "%d %s" % (status, said))
    finally:
        server.kill()
        server.wait()


def main():
    with tempfile.TemporaryDirectory() as work:
        only = sys.argv[1:]
        for part in (formats, catalogs, large, first_answers, faults, secrets, archives, prefixes, s3):
            if not only or part.__name__ in only:
                part(work)
    finish()


if __name__ == "__main__":
    main()
