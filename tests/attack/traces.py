"""Mutated traces: every way to ask gives one answer, nothing crashes, hangs or stays behind."""
import os
import time

import edits
from ask import Finding, Step, command_line, digest_of, files_below, note_of, remove
from questions import QUESTIONS, differs, words_of
import seeds

INDEX = ["--index-dir", "index"]
BUILDS = [["index", "trace", *INDEX], ["index", "trace", "--timelines", "--jobs", "1", *INDEX],
          ["index", "trace", "--timelines", "--jobs", "4", *INDEX]]
EXCHANGED = [["index", "trace", "--timelines", "--exchange", "exchange", "--workers", "1", "--lapse", "1", *INDEX]]
WITH_TIMELINES = [[BUILDS[1]], [BUILDS[0], BUILDS[2]], EXCHANGED]
QUESTIONS_EACH = 4
SMALLER_SECONDS = 40


def ways_of(words):
    """Which way of asking a command line is."""
    return ("index" if "--index-dir" in words else "no index") + (", threads" if "4" == words[-1] else "")


def steps_of(asked, timelines):
    """Each question alone, in its first way, with an index in its second, with timelines in its third."""
    steps = [Step(words_of(question, "alone"), question.stdin, question) for question, _ in asked]
    for way, builds in enumerate(([], [BUILDS[0]], timelines)):
        steps += [Step(words, b"", None) for words in builds]
        steps += [Step(words_of(question, ways[way]), question.stdin, question) for question, ways in asked]
    return steps


class Traces:
    name = "traces"
    share = 6

    def __init__(self, ground):
        self.ground, self.asker = ground, ground.asker

    def case(self, r, folder):
        name = r.choice(sorted(self.ground.seeds))
        source = self.ground.seeds[name]
        changes = self.damage(r, source)
        first = r.choice(["threads", "index"])
        asked = [(question, [first] + [r.choice(["index", "index, threads"]) for _ in range(2)])
                 for question in r.sample(QUESTIONS, QUESTIONS_EACH)]
        timelines = r.choice(WITH_TIMELINES)
        seen = None
        if self.asker.server:
            seen = self.screen(folder, source, changes, steps_of(asked, timelines))
            if not seen:
                return []
        found = self.attempt(folder, source, changes, asked, timelines)
        if found:
            return [self.smaller(folder, source, changes, asked, timelines, found[0])]
        if seen:
            commands = [command_line(step.words, step.stdin) for step in steps_of(asked, timelines)]
            return [Finding("only in one process: " + seen[0], commands, self.told(source, changes) + seen[1])]
        return []

    def screen(self, folder, source, changes, steps):
        """What is wrong when one process runs all; which commands show it is found by attempt()."""
        truths = {}
        self.lay_out(folder, source, changes)
        return self.asker.screened(folder, steps, lambda question, answer:
                                   truths.setdefault(id(question), answer), differs)

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

    def attempt(self, folder, source, changes, asked, timelines):
        """The findings of the first step that has one."""
        found, before, truths = [], [], {}
        self.lay_out(folder, source, changes)
        for step in steps_of(asked, timelines):
            answer = self.step(folder, step.words, step.stdin, before, found)
            before = before + [command_line(step.words, step.stdin)]
            if step.question is not None:
                truth = truths.setdefault(id(step.question), answer)
                how = differs(step.question, truth, answer)
                if how and not found:
                    stage = "timelines" if before.count(command_line(BUILDS[0])) and \
                        command_line(timelines[-1]) in before else ways_of(step.words)
                    found.append(Finding("%s differs, %s, %s" % (step.words[0], stage, how), before,
                                         note_of(truth, answer)))
            if found:
                break
        return found

    def smaller(self, folder, source, changes, asked, timelines, finding):
        """The same kind of finding with fewer questions and edits; the folder holds what shows it."""
        def shows(changes, asked):
            for other in self.attempt(folder, source, changes, asked, timelines):
                if other.kind == finding.kind:
                    return other
            return None

        end = time.monotonic() + SMALLER_SECONDS
        for one in asked:
            again = shows(changes, [one]) if time.monotonic() < end else None
            if again:
                finding, asked = again, [one]
                break
        i = 0
        while i < len(changes) and len(changes) > 1 and time.monotonic() < end:
            fewer = changes[:i] + changes[i + 1:]
            again = shows(fewer, asked)
            if again:
                finding, changes = again, fewer
            else:
                i += 1
        shows(changes, asked)
        remove(os.path.join(folder, "index"))
        return finding._replace(note=self.told(source, changes) + finding.note)

    @staticmethod
    def told(source, changes):
        told = "; ".join("%s: %d bytes at %d by %r" % (c.path, c.gone, c.at, c.put[:40]) for c in changes)
        return ("%s with %s\n" % (source, told)).encode()
