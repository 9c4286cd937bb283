"""Damaged stores: whatever happened to index files, timelines and shards, answers are those of --no-index."""
import os
import random
import re
import shutil
import threading
import time

import edits
from ask import Finding, Step, command_line, digest_of, note_of, remove
from questions import QUESTIONS, differs, words_of
import seeds
from traces import BUILDS, EXCHANGED, INDEX, SMALLER_SECONDS

CHECKPOINTS = [["at", "trace", "-1ms", "**", *INDEX], ["state", "trace", "**", *INDEX],
               ["events", "trace", "--tid", "1-100000", *INDEX]]
STORES = {
    "index": BUILDS[:1],
    "answers": CHECKPOINTS,
    "timelines": [BUILDS[0], BUILDS[1]],
    "everything": [BUILDS[0], *CHECKPOINTS, BUILDS[2]],
    "half of the shards": EXCHANGED,
    "shards": EXCHANGED,
}
NOT_BUILT = re.compile(r"\.built-[23]\.shard$")  # of half of the shards
# Questions whose answers come from a store.
ASKED = [question for question in QUESTIONS
         if question.words[0] not in ("explain", "rules", "aux", "run", "timeline") or "cputop" in question.words]
QUESTIONS_EACH = 3


class Stores:
    name = "stores"
    share = 4

    def __init__(self, ground):
        self.ground, self.asker = ground, ground.asker
        self.bases, self.truths = {}, {}
        self.lock = threading.RLock() # cases run side by side, and each base is made once

    def base(self, seed, store):
        """A folder with the trace and the whole store, made once."""
        with self.lock:
            key = (seed, store)
            if key not in self.bases:
                self.bases[key] = self.make_base(seed, store)
            return self.bases[key]

    def make_base(self, seed, store):
        folder = self.ground.folder("base-%d" % len(self.bases))
        seeds.copy(self.ground.seeds[seed], os.path.join(folder, "trace"))
        self.asker.build(folder, STORES[store])
        index = os.path.join(folder, "index")
        for name in os.listdir(index) if store == "half of the shards" and os.path.isdir(index) else []:
            if NOT_BUILT.search(name):
                remove(os.path.join(index, name))
        files = [name for name in sorted(os.listdir(index))
                 if os.path.getsize(os.path.join(index, name))] if os.path.isdir(index) else []
        return folder, files

    def truth(self, seed, question):
        """The answer without an index, asked once."""
        with self.lock:
            key = (seed, tuple(question.words), question.stdin)
            if key not in self.truths:
                self.truths[key] = self.ask_alone(self.base(seed, "index")[0], question)
            return self.truths[key]

    def ask_alone(self, folder, question):
        if self.asker.server:
            return self.asker.run_all(folder, [(words_of(question, "alone"), question.stdin)])[0]
        answer = self.asker.run(folder, words_of(question, "alone"), question.stdin)
        out = os.path.join(folder, "out")
        answer = answer._replace(out=answer.out + digest_of(out))
        remove(out)
        return answer

    def case(self, r, folder):
        # a few inputs: their stores and true answers are used again and again
        seed = r.choice(sorted(self.ground.own))
        store = r.choice(sorted(STORES))
        base, files = self.base(seed, store)
        if not files:
            return []
        changes = self.damage(r, base, files)
        questions = r.sample(ASKED, QUESTIONS_EACH)
        seen = self.screen(folder, seed, store, changes, questions) if self.asker.server else None
        if self.asker.server and not seen:
            return []
        found = self.attempt(folder, seed, store, changes, questions)
        if found:
            return [self.smaller(folder, seed, store, changes, questions, found)]
        if seen:
            commands = [command_line(step.words, step.stdin) for step in self.steps_of(questions)]
            return [Finding("%s, damaged, only in one process: %s" % (store, seen[0]), commands,
                            self.told(seed, store, changes) + seen[1])]
        return []

    @staticmethod
    def steps_of(questions):
        """The questions, a build after them, and the first question again."""
        order = [*questions, None, questions[0]]
        return [Step(words_of(question, "index, threads" if i % 2 else "index"), question.stdin, question)
                if question else Step(BUILDS[1], b"", None) for i, question in enumerate(order)]

    def screen(self, folder, seed, store, changes, questions):
        """What is wrong when one process runs all; which commands show it is found by attempt()."""
        self.lay_out(folder, seed, store, changes)
        return self.asker.screened(folder, self.steps_of(questions), lambda question, _:
                                   self.truth(seed, question), self.differs)

    @staticmethod
    def differs(question, truth, answer):
        how = differs(question, truth, answer)
        if how == "exit status %d and 3" % truth.status and answer.out == truth.out:
            return None  # it told the damage of the index
        return how

    def damage(self, r, base, files):
        """Locks count as files, but are hit less often."""
        other = random.Random(r.random())
        chosen = [r.choice(files)]
        if chosen[0].endswith("-lock") and r.random() < 0.8:
            chosen = [r.choice(files)]
        changes = []
        for name in chosen:
            with open(os.path.join(base, "index", name), "rb") as file:
                data = file.read()
            with open(os.path.join(base, "index", other.choice(files)), "rb") as file:
                paste = file.read()
            changes += edits.store_edits(r, name, data, paste)
        return changes

    def lay_out(self, folder, seed, store, changes):
        base, _ = self.base(seed, store)
        for name in ("trace", "index", "out", "tmp", "home"):
            remove(os.path.join(folder, name))
        os.symlink(os.path.join(base, "trace"), os.path.join(folder, "trace"))
        shutil.copytree(os.path.join(base, "index"), os.path.join(folder, "index"))
        for name in {change.path for change in changes}:
            path = os.path.join(folder, "index", name)
            with open(path, "r+b") as file:
                data = edits.apply(file.read(), changes)
                file.seek(0)
                file.write(data[:64 << 20])
                file.truncate()

    def attempt(self, folder, seed, store, changes, questions):
        """The first finding, or None."""
        self.lay_out(folder, seed, store, changes)
        before = []
        for words, stdin, question in self.steps_of(questions):
            answer = self.asker.run(folder, words, stdin)
            kind = self.asker.judge(folder, answer)
            out = os.path.join(folder, "out")
            answer = answer._replace(out=answer.out + digest_of(out))
            remove(out)
            before = before + [command_line(words, stdin)]
            if kind:
                return Finding("%s, damaged: %s: %s" % (store, words[0], kind), before, answer.err)
            if not question:
                continue
            truth = self.truth(seed, question)
            how = self.differs(question, truth, answer)
            if how:
                return Finding("%s, damaged: %s differs from --no-index: %s" % (store, words[0], how), before,
                               note_of(truth, answer))
        return None

    def smaller(self, folder, seed, store, changes, questions, finding):
        end = time.monotonic() + SMALLER_SECONDS
        for question in questions:
            again = self.attempt(folder, seed, store, changes, [question])
            if again and again.kind == finding.kind:
                finding, questions = again, [question]
                break
        i = 0
        while i < len(changes) and len(changes) > 1 and time.monotonic() < end:
            fewer = changes[:i] + changes[i + 1:]
            again = self.attempt(folder, seed, store, fewer, questions)
            if again and again.kind == finding.kind:
                finding, changes = again, fewer
            else:
                i += 1
        self.lay_out(folder, seed, store, changes)
        trace = os.path.join(folder, "trace")
        os.unlink(trace)
        seeds.copy(self.ground.seeds[seed], trace)
        return finding._replace(note=self.told(seed, store, changes) + finding.note)

    @staticmethod
    def told(seed, store, changes):
        told = "; ".join("%s: %d bytes at %d by %r" % (c.path, c.gone, c.at, c.put[:40]) for c in changes)
        return ("%s of %s with %s\n" % (store, seed, told)).encode()


class Bits(Stores):
    """One bit of the catalog, or of another file of the index."""
    name = "bits"

    def damage(self, r, base, files):
        catalog = [name for name in files if name.startswith("catalog")]
        name = r.choice(catalog if catalog and r.random() < 0.4 else files)
        with open(os.path.join(base, "index", name), "rb") as file:
            data = file.read()
        at = r.randrange(len(data))
        return [edits.overwrite(name, data, at, bytes([data[at] ^ 1 << r.randrange(8)]))]
