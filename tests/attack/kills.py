"""Builds and conversions that a signal ends at any moment; the next question is answered as if nothing had been."""
import os
import shutil
import signal
import threading

from ask import LEFT_OVER, Finding, command_line, digest_of, remove
from questions import differs, words_of
import seeds
from stores import ASKED
from traces import BUILDS, EXCHANGED, INDEX

CONVERTS = [["convert", "trace", "out", "--to", to, *INDEX] for to in ("parquet", "csv", "sqlite", "chrome", "perfetto", "folded")]
OTHERS = [["timeline", "trace", "cpu[*]/thread", "--svg", "out", *INDEX], ["at", "trace", "-1ms", "**", *INDEX],
          ["sql", "trace", "SELECT * FROM events ORDER BY name", *INDEX]]
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


class Kills:
    name = "kills"
    share = 1

    def __init__(self, ground):
        self.ground, self.asker = ground, ground.asker
        self.takes = {}
        self.lock = threading.Lock()
        self.builds = [0, 0]  # signals sent to builds, and those that ended one
        self.seeds = dict(ground.own)
        if ground.gen:
            self.seeds["large"] = os.path.join(ground.work, "large")
            seeds.make_gen(ground.gen, self.seeds["large"], "--size", "2M", "--packet-size", "8192")

    def case(self, r, folder):
        seed = r.choice(sorted(self.seeds) + ["large"] * (8 if "large" in self.seeds else 0))
        os.symlink(self.seeds[seed], os.path.join(folder, "trace"))
        before, found = [], []
        for words in r.choice([[step] for step in BUILDS + CONVERTS + OTHERS] + [EXCHANGED] * 4):
            sent = r.choice(SIGNALS)
            self.kill(r, folder, seed, words, sent, before, found)
            if words in EXCHANGED or (words in BUILDS and r.random() < 0.5):  # what was killed is run again
                self.check(folder, self.asker.run(folder, words), words, before, found)
        for question in r.sample(ASKED, 2):
            self.ask(folder, question, before, found)
        if found:
            os.unlink(os.path.join(folder, "trace"))
            shutil.copytree(self.seeds[seed], os.path.join(folder, "trace")) if os.path.isdir(self.seeds[seed]) \
                else shutil.copyfile(self.seeds[seed], os.path.join(folder, "trace"))
        return found[:1]

    def told(self):
        return "%d signals were sent to builds, at random instants of them; %d ended one" % tuple(self.builds)

    def undisturbed(self, folder, seed, words):
        """How long the command takes when nothing ends it, and the digest of what it writes."""
        key = (seed, tuple(words))
        if key not in self.takes:
            at = os.path.join(folder, "undisturbed")
            os.mkdir(at)
            os.symlink(self.seeds[seed], os.path.join(at, "trace"))
            seconds = self.asker.run(at, words).seconds
            self.takes[key] = seconds, digest_of(os.path.join(at, "out"))
            remove(at)
        return self.takes[key]

    def kill(self, r, folder, seed, words, sent, before, found):
        seconds, whole = self.undisturbed(folder, seed, words)
        moment = r.random() * 1.1 * seconds
        answer = self.asker.run(folder, words, kill=(moment, sent))
        before.append("timeout --foreground -s %s %.3f %s" % (sent.name[3:], moment, command_line(words)))
        gone = answer.status in (-sent, STATUS.get(sent))
        if words[0] == "index":
            with self.lock:
                self.builds[0] += 1
                self.builds[1] += gone
        out = os.path.join(folder, "out")
        if sent == signal.SIGKILL:  # nothing tidies up behind it
            index = os.path.join(folder, "index")
            for name in os.listdir(folder):
                if name not in ("trace", "index", "exchange", "home"):
                    remove(os.path.join(folder, name))
            for name in os.listdir(index) if os.path.isdir(index) else []:
                if LEFT_OVER.search(name):
                    remove(os.path.join(index, name))
            return
        kind = self.asker.judge(folder, answer, allowed=(-sent, STATUS[sent]))
        if not kind and gone and os.path.lexists(out) and digest_of(out) != whole:
            kind = "half an output"
        if kind:
            found.append(Finding("%s, %s: %s" % (sent.name, words[0], kind), list(before), answer.err))
        remove(out)

    def check(self, folder, answer, words, before, found):
        kind = self.asker.judge(folder, answer)
        before.append(command_line(words))
        if kind or answer.status not in (0, 3):
            found.append(Finding("killed, run again: %s: %s" % (words[0], kind or "exit status %d" % answer.status),
                                 list(before), answer.err))

    def ask(self, folder, question, before, found):
        answers = []
        for way in ("alone", "index"):
            words = words_of(question, way)
            answer = self.asker.run(folder, words, question.stdin)
            kind = self.asker.judge(folder, answer)
            if kind and not kind.startswith("left behind"):
                found.append(Finding("killed, then %s: %s" % (words[0], kind),
                                     before + [command_line(words, question.stdin)], answer.err))
            answers.append(answer._replace(out=answer.out + digest_of(os.path.join(folder, "out"))))
            remove(os.path.join(folder, "out"))
        how = differs(question, *answers)
        if how:
            note = b"\n=====\n".join([answers[0].out[:20000], answers[1].out[:20000], answers[1].err[:4000]])
            found.append(Finding("killed, then %s differs: %s" % (question.words[0], how),
                                 before + [command_line(words, question.stdin)], note))
