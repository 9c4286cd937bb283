"""Compressed records that unfold to much more than they are: damage, told soon, in little memory and on little disk."""
import os

from ask import Finding, command_line
import seeds

COMMANDS = [["info", "trace"], ["events", "trace", "--count"], ["check", "trace"], ["stats", "trace"],
            ["index", "trace"], ["index", "trace", "--timelines"], ["convert", "trace", "-", "--to", "csv"],
            ["at", "trace", "+1ms"]]
MOST_MB, MOST_SECONDS, MOST_DISK = 400, 10, 256 << 20


class Bombs:
    name = "bombs"
    share = 0.1

    def __init__(self, ground):
        self.ground, self.asker = ground, ground.asker

    def case(self, r, folder):
        records, blocks = r.choice([(1, 16000), (4, 8000), (40, 16000), (1, 100), (1000, 300)])
        with open(os.path.join(folder, "trace"), "wb") as file:
            file.write(seeds.perf_bomb(records, blocks))
        words = r.choice(COMMANDS) + r.choice([["--no-index"], ["--index-dir", "index"]])
        # a file that grows beyond this ends the command: the machine's disk is not at stake
        answer = self.asker.run(folder, words, file_limit=MOST_DISK)
        kind = self.asker.judge(folder, answer)
        if not kind and answer.mb > MOST_MB:
            kind = "more than %d MB of memory" % MOST_MB
        if not kind and answer.cpu > MOST_SECONDS:
            kind = "more than %d s" % MOST_SECONDS
        if not kind and b"File too large" in answer.err:
            kind = "more than %d MB of disk" % (MOST_DISK >> 20)
        if not kind:
            return []
        told = "# a pipe of perf: %d records of %d blocks of 128 KB, %d bytes" % (
            records, blocks, os.path.getsize(os.path.join(folder, "trace")))
        return [Finding("bomb: %s: %s" % (words[0], kind), [told, command_line(words)], answer.err)]
