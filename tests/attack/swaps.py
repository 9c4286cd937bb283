"""Files that become others between two questions: no answer comes from what was stored of the former ones."""
import json
import os
import random
import threading

import edits
from ask import Finding, Step, command_line, digest_of, files_below, note_of, remove
from questions import differs, words_of
import seeds
from stores import ASKED, STORES

QUESTIONS_EACH = 3


class Swaps:
    name = "swaps"
    share = 2

    def __init__(self, ground):
        self.ground, self.asker = ground, ground.asker
        self.recorded = {}
        self.lock = threading.Lock() # cases run side by side, and each recording is made once

    def recordings(self, name):
        """Two recordings that look alike: the same place, and the same head and size where that can be."""
        with self.lock:
            if name not in self.recorded:
                self.recorded[name] = self.record(name)
            return self.recorded[name]

    def record(self, name):
        folder = self.ground.folder("recorded-" + name)
        paths = [os.path.join(folder, "one"), os.path.join(folder, "two")]
        if name == "switch-output":
            data = seeds.split_perf(self.ground.own["sched-perf"])
            for path, part in zip(paths, data):
                with open(path, "wb") as file:
                    file.write(part)
        else:
            for number, path in enumerate(paths):
                seeds.make_gen(self.ground.gen, path, "--size", "64K", "--packet-size", "4096", "--cpus", "2",
                               "--seed", str(number + 1), *seeds.GEN[name])
        return paths

    def case(self, r, folder):
        if not self.asker.server:
            return self.swap(r, folder, self.ask)
        state = r.getstate()
        seen = self.swap(r, folder, self.screen)
        if not seen:
            return []
        remove(folder)
        os.makedirs(folder)
        r.setstate(state)
        return self.swap(r, folder, self.ask) or seen

    def swap(self, r, folder, ask):
        alike = ["switch-output"] + (sorted(seeds.GEN) if self.ground.gen else [])
        kind = r.choice(["again", "exchanged", "overwritten", "shifted", "regrown", "grown", "exchanged"])
        if kind == "again":
            one, two = r.sample(self.recordings(r.choice(alike)), 2)
        else:
            one = two = self.ground.own[r.choice(sorted(self.ground.own))]
        trace = os.path.join(folder, "trace")
        seeds.copy(one, trace)
        touched = r.choice([path for path in files_below(trace) if os.path.getsize(path)])
        if kind == "grown":
            self.cut(r, touched)
        questions = r.sample(ASKED, QUESTIONS_EACH)
        before = []
        store = r.choice(sorted(STORES))
        self.asker.build(folder, STORES[store])
        before += [command_line(words) for words in STORES[store]]
        times = os.stat(touched)
        in_place = r.random() < 0.5
        if kind == "again":
            self.put_all(two, trace, in_place)
        else:
            whole = os.path.join(one, os.path.relpath(touched, trace)) if os.path.isdir(one) else one
            self.put(touched, self.changed(r, kind, folder, touched, whole), in_place)
        if r.random() < 0.5:
            os.utime(touched, ns=(times.st_atime_ns, times.st_mtime_ns))
        before.append("# %s: %s, %s" % (os.path.relpath(touched, folder), kind,
                                        "in place" if in_place else "a new file"))
        return ask(folder, questions, before, store)

    def screen(self, folder, questions, before, store):
        """As ask(), in one process."""
        truths = {}
        steps = [Step(words_of(question, way), question.stdin, question)
                 for question in questions * 2 for way in ("alone", "index")]

        def truth(question, answer):
            return truths.setdefault(id(question), answer)

        seen = self.asker.screened(folder, steps, truth, differs)
        if not seen:
            return []
        return [Finding("swapped, %s, only in one process: %s" % (store, seen[0]),
                        before + [command_line(step.words, step.stdin) for step in steps], seen[1])]

    def ask(self, folder, questions, before, store):
        for question in questions * 2:
            answers = []
            for way in ("alone", "index"):
                words = words_of(question, way)
                answer = self.asker.run(folder, words, question.stdin)
                kind = self.asker.judge(folder, answer)
                if kind:
                    return [Finding("swapped: %s: %s" % (words[0], kind),
                                    before + [command_line(words, question.stdin)], answer.err)]
                out = os.path.join(folder, "out")
                answers.append(answer._replace(out=answer.out + digest_of(out)))
                remove(out)
            before = before + [command_line(words, question.stdin)]
            how = differs(question, *answers)
            if how:
                kind = before[len(STORES[store])].split(": ")[1].split(",")[0]
                return [Finding("swapped, %s, %s: %s differs: %s" % (store, kind, question.words[0], how),
                                before, note_of(*answers))]
        return []

    @staticmethod
    def put(path, data, in_place):
        """In place, as a tracer or an editor writes; or another file of the name."""
        if in_place:
            with open(path, "r+b") as file:
                file.write(data)
                file.truncate()
            return
        with open(path + ".other", "wb") as file:
            file.write(data)
        os.rename(path + ".other", path)

    def put_all(self, source, trace, in_place):
        if not in_place:
            remove(trace)
            seeds.copy(source, trace)
            return
        for path in files_below(source):
            with open(path, "rb") as file:
                data = file.read()
            to = os.path.normpath(os.path.join(trace, os.path.relpath(path, source)))
            if os.path.exists(to):
                self.put(to, data, True)
            else:
                with open(to, "wb") as file:
                    file.write(data)

    @staticmethod
    def cut(r, path):
        size = os.path.getsize(path)
        os.truncate(path, r.choice([size // 2, size - size % 4096 // 2, r.randrange(size + 1)]))

    def changed(self, r, kind, folder, path, whole):
        """The new content of a file."""
        with open(path, "rb") as file:
            data = file.read()
        if kind == "grown":
            with open(whole, "rb") as file:
                return file.read()
        if kind == "exchanged":
            return self.exchanged(r, folder, path, data)
        at = r.randrange(len(data))
        page = at - at % 4096
        other = random.Random(r.random()).randbytes(64)
        if kind == "overwritten":
            block = r.choice([other, data[:4096], bytes(4096)])
            return edits.apply(data, [edits.overwrite("", data, r.choice([at, page]), block)])
        if kind == "shifted":
            return edits.apply(data, [edits.Edit("", page, 0, data[page:page + 4096]) if r.random() < 0.5 else
                                      edits.Edit("", page, 4096, b"")])
        again = data[:at]  # regrown: cut, and other bytes of the trace behind it
        return again + data[:len(data) - len(again)]

    def exchanged(self, r, folder, path, data):
        """Two packets of one size change places; else two pages."""
        told = self.asker.run(folder, ["dump", "trace", "--format", "json", "--no-index"]).out
        places = []
        for line in told.splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if os.path.basename(str(row.get("file", ""))) == os.path.basename(path) or os.path.isfile(
                    os.path.join(folder, "trace")):
                places.append((row.get("bytes", row.get("size")), row.get("offset")))
        places = [(size, at) for size, at in places if isinstance(size, int) and isinstance(at, int)]
        pairs = [(a, b) for i, a in enumerate(places) for b in places[i + 1:]
                 if a[0] == b[0] and a[1] + a[0] <= b[1] and b[1] + b[0] <= len(data)]
        if pairs:
            (size, one), (_, two) = r.choice(pairs[:400])
        else:
            size, pages = 4096, max(1, len(data) // 4096)
            one, two = r.randrange(pages) * size, r.randrange(pages) * size
        return edits.apply(data, [edits.overwrite("", data, one, data[two:two + size]),
                                  edits.overwrite("", data, two, data[one:one + size])])
