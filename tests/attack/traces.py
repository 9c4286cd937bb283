"""Mutated traces: every way to ask gives one answer, nothing crashes, hangs or stays behind."""
import os
import time

import edits
from ask import Finding, command_line, digest_of, files_below, remove
from questions import QUESTIONS, differs, words_of
import seeds

INDEX = ["--index-dir", "index"]
BUILDS = [["index", "trace", *INDEX], ["index", "trace", "--timelines", "--jobs", "1", *INDEX],
          ["index", "trace", "--timelines", "--jobs", "4", *INDEX]]
CHUNKS = [["index", "trace", "--timelines", "--chunk", "1/2", "--pass", "1", *INDEX],
          ["index", "trace", "--timelines", "--chunk", "2/2", "--pass", "1", *INDEX],
          ["index", "trace", "--timelines", "--join", *INDEX],
          ["index", "trace", "--timelines", "--chunk", "2/2", "--pass", "2", *INDEX],
          ["index", "trace", "--timelines", "--chunk", "1/2", "--pass", "2", *INDEX]]
WITH_TIMELINES = [[BUILDS[1]], [BUILDS[0], BUILDS[2]], CHUNKS]
QUESTIONS_EACH = 4
SMALLER_SECONDS = 40


class Traces:
    name = "traces"
    share = 6

    def __init__(self, ground):
        self.ground, self.asker = ground, ground.asker

    def case(self, r, folder):
        name = r.choice(sorted(self.ground.seeds))
        source = self.ground.seeds[name]
        changes = self.damage(r, source)
        questions = r.sample(QUESTIONS, QUESTIONS_EACH)
        timelines = r.choice(WITH_TIMELINES)
        found = self.attempt(folder, source, changes, questions, timelines)
        if not found:
            return []
        return [self.smaller(folder, source, changes, questions, timelines, found[0])]

    def damage(self, r, source):
        files = [file for file in files_below(source) if "/expected/" not in file and not file.endswith(".md")]
        changes = []
        for path in r.sample(files, min(len(files), r.choice([1, 1, 1, 2]))):
            with open(path, "rb") as file:
                data = file.read()
            with open(r.choice(self.ground.splices), "rb") as file:
                other = file.read()
            changes += edits.trace_edits(r, os.path.relpath(path, source), data, other)
        return changes

    def lay_out(self, folder, source, changes):
        for name in ("trace", "index", "out", "tmp", "home"):
            remove(os.path.join(folder, name))
        trace = os.path.join(folder, "trace")
        seeds.copy(source, trace)
        for name in {change.path for change in changes}:
            path = os.path.normpath(os.path.join(trace, name))
            with open(path, "rb") as file:
                data = file.read()
            with open(path, "wb") as file:
                file.write(edits.apply(data, [c for c in changes if c.path == name])[:64 << 20])

    def step(self, folder, words, stdin, before, found):
        """Runs one command; its answer, with the digest of what it wrote behind its output."""
        answer = self.asker.run(folder, words, stdin)
        kind = self.asker.judge(folder, answer)
        out = os.path.join(folder, "out")
        if kind is None and words[0] == "convert" and answer.status in (1, 2) and os.path.lexists(out):
            kind = "convert failed and left its output"
        answer = answer._replace(out=answer.out + digest_of(out))
        remove(out)
        for name in os.listdir(folder):
            if name not in ("trace", "index", "tmp", "home"):
                remove(os.path.join(folder, name))
        remove(os.path.join(folder, "tmp"))
        if kind:
            found.append(Finding("%s: %s" % (words[0], kind), before + [command_line(words, stdin)], answer.err))
        return answer

    def compare(self, folder, question, ways, truth, before, found):
        for way in ways:
            words = words_of(question, way)
            answer = self.step(folder, words, question.stdin, before, found)
            how = differs(question, truth, answer) if truth else None
            if how and not self.asker_failed(found):
                commands = [command_line(words_of(question, "alone"), question.stdin)] + before + \
                    [command_line(words, question.stdin)]
                note = truth.out[:20000] + b"\n=====\n" + answer.out[:20000] + b"\n=====\n" + \
                    truth.err[:4000] + b"\n=====\n" + answer.err[:4000]
                found.append(Finding("%s differs, %s, %s" % (question.words[0], way, how), commands, note))

    @staticmethod
    def asker_failed(found):
        return bool(found) and "differs" not in found[-1].kind

    def attempt(self, folder, source, changes, questions, timelines, stop=True):
        """All findings of these questions, or the first ones when `stop`."""
        found = []
        self.lay_out(folder, source, changes)
        truths = []
        for question in questions:
            if question.words[0] == "rules":
                self.step(folder, question.words, b"", [], found)
                truths.append(None)
                continue
            truth = self.step(folder, words_of(question, "alone"), question.stdin, [], found)
            truths.append(truth)
            self.compare(folder, question, ["threads", "index"], truth, [], found)
            if found and stop:
                return found
        before = []
        remove(os.path.join(folder, "index"))
        for stage in ([BUILDS[0]], timelines):
            for words in stage:
                self.step(folder, words, b"", before, found)
                before = before + [command_line(words)]
            for question, truth in zip(questions, truths):
                if truth:
                    self.compare(folder, question, ["index", "index, threads"], truth, before, found)
                if found and stop:
                    return found
        return found

    def smaller(self, folder, source, changes, questions, timelines, finding):
        """The same kind of finding with fewer questions and edits; the folder holds what shows it."""
        def shows(changes, questions):
            for other in self.attempt(folder, source, changes, questions, timelines):
                if other.kind == finding.kind:
                    return other
            return None

        end = time.monotonic() + SMALLER_SECONDS
        for question in questions:
            again = shows(changes, [question]) if time.monotonic() < end else None
            if again:
                finding, questions = again, [question]
                break
        i = 0
        while i < len(changes) and len(changes) > 1 and time.monotonic() < end:
            fewer = changes[:i] + changes[i + 1:]
            again = shows(fewer, questions)
            if again:
                finding, changes = again, fewer
            else:
                i += 1
        shows(changes, questions)
        told = "; ".join("%s: %d bytes at %d by %r" % (c.path, c.gone, c.at, c.put[:40]) for c in changes)
        remove(os.path.join(folder, "index"))
        return finding._replace(note=("%s with %s\n" % (source, told)).encode() + finding.note)
