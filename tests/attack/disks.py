"""Full disks and read-only folders: a question is answered, a file is whole or not there, and the reason is told."""
import ctypes
import os
import subprocess

from ask import Finding, command_line, digest_of, remove
from questions import differs, words_of
import seeds
from stores import ASKED
from traces import BUILDS, EXCHANGED

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000


def own_mounts():
    """Gives this process mounts of its own, which end with it. False, and said, where that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNS) and libc.unshare(CLONE_NEWNS | CLONE_NEWUSER) == 0:
        for name, text in (("setgroups", "deny"), ("uid_map", "0 %d 1" % user), ("gid_map", "0 %d 1" % group)):
            with open("/proc/self/" + name, "w", encoding="ascii") as file:
                file.write(text)
    ok = subprocess.run(["mount", "--make-rprivate", "/"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    if not ok:
        print("SKIP: no mounts are allowed here: full disks are files that may not grow, none is read-only")
    return ok


class Disks:
    name = "disks"
    share = 1

    def __init__(self, ground):
        self.ground, self.asker = ground, ground.asker

    def case(self, r, folder):
        seed = r.choice(sorted(self.ground.own))
        seeds.copy(self.ground.own[seed], os.path.join(folder, "trace"))
        size = r.choice([0, 4096, 8192, 16384, 32768, 65536, 131072, 1 << 20, r.randrange(1 << 18)])
        where = r.choice(["index", "index", "tmp", "out"])
        readonly = self.ground.mounts and r.random() < 0.25
        if not self.ground.mounts:
            return self.ask(r, folder, seed, where, size, "no file beyond %d bytes" % size)
        place = os.path.join(folder, where if where != "out" else "full")
        os.makedirs(place)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk" % max(4, size // 1024), "tmpfs", place], check=True)
        try:
            if readonly:
                if r.random() < 0.5 and where == "index":
                    words, found = r.choice(BUILDS), []
                    self.check(folder, self.asker.run(folder, words), words, [command_line(words)], found)
                    if found:
                        return found
                subprocess.run(["mount", "-o", "remount,ro", place], check=True)
            told = "read-only" if readonly else "of %d KB" % max(4, size // 1024)
            return self.ask(r, folder, seed, where, None, told)
        finally:
            subprocess.run(["umount", "-l", place], check=True)

    def ask(self, r, folder, seed, where, file_limit, told):
        before, found = ["# %s: %s is %s" % (seed, where, told)], []
        out = "full/out" if os.path.isdir(os.path.join(folder, "full")) else "out"
        for words in r.choice([BUILDS, EXCHANGED, []]):
            answer = self.asker.run(folder, words, file_limit=file_limit)
            before.append(command_line(words))
            self.check(folder, answer, words, before, found)
        for question in r.sample(ASKED, 4):
            truth = self.asker.run(folder, words_of(question, "alone"), question.stdin, tmp="home")
            truth = truth._replace(out=truth.out + digest_of(os.path.join(folder, "out")))
            remove(os.path.join(folder, "out"))
            words = [out if word == "out" else word for word in words_of(question, "index")]
            answer = self.asker.run(folder, words, question.stdin, file_limit=file_limit)
            said = command_line(words, question.stdin)
            self.check(folder, answer, words, before + [said], found)
            left = os.path.join(folder, out)
            writes = "out" in question.words or where == "tmp" or file_limit is not None
            if writes and answer.status == 1:
                if os.path.lexists(left):
                    found.append(Finding("disk: %s failed and left its output" % words[0], before + [said], answer.err))
            else:
                answer = answer._replace(out=answer.out + digest_of(left))
                how = differs(question, truth, answer)
                if how:
                    note = b"\n=====\n".join([truth.out[:20000], answer.out[:20000], answer.err[:4000]])
                    found.append(Finding("disk, %s %s: %s differs: %s" % (
                        where, "read-only" if told == "read-only" else "full", words[0], how), before + [said], note))
            remove(left)
        return found[:1]

    def check(self, folder, answer, words, before, found):
        kind = self.asker.judge(folder, answer)
        full = os.path.join(folder, "full")
        if not kind and answer.status == 1 and os.path.isdir(full) and os.listdir(full):
            kind = "left behind: " + os.listdir(full)[0].split(".")[0] + ".*"
        if kind:
            found.append(Finding("disk: %s: %s" % (words[0], kind), list(before), answer.err))
