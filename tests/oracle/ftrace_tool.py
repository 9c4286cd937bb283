"""What trace-cmd says of a trace.dat file: run here, or written down in a corpus folder."""
import collections
import os
import re
import subprocess

Line = collections.namedtuple("Line", "instance comm pid cpu time name text flags")
Drop = collections.namedtuple("Drop", "instance cpu count before")  # before: the line that follows

HEAD = re.compile(r"^(?:(?P<instance>\w+): )? *(?P<comm>.*)-(?P<pid>\d+) +"
                  r"\[(?P<cpu>\d+)\] +(?P<time>[\d.]+): (?P<name>[^\s:]+): (?P<text>.*)$")
LATENCY = re.compile(r"^(?:(?P<instance>\w+): )? *(?P<comm>.*)-(?P<pid>\d+) +"
                     r"(?P<cpu>\d+)(?P<flags>[^\s]{5}|-0x[0-9a-f]+) +(?P<time>[\d.]+): (?P<name>[^\s:]+): "
                     r"(?P<text>.*)$")
DROPPED = re.compile(r"^(?:(?P<instance>\w+): *)?CPU:(?P<cpu>\d+) \[(?:(?P<count>\d+) )?EVENTS DROPPED\]")


def run(*arguments):
    return subprocess.run(["trace-cmd", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False).stdout.decode(
                              "utf-8", "surrogateescape")


def installed():
    try:
        subprocess.run(["trace-cmd", "--version"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
        return True
    except FileNotFoundError:
        return False


def raw_report(path, flags=False):
    """(lines, drops) with the fields as numbers; as written down beside the file without trace-cmd. With `flags` lines have
    common_flags and common_preempt_count, where trace-cmd is there: "0x9" are the flags 9."""
    if installed():
        return report(run("report", "-R", "-t", *(["-l"] if flags else []), "-i", path))
    with open(written(path), encoding="utf-8", errors="surrogateescape") as file:
        return report(file.read())


def written(path):
    return os.path.join(os.path.dirname(path), "expected", "report-raw.txt")


def nanoseconds(text):
    seconds, _, part = text.partition(".")
    return int(seconds) * 10 ** 9 + int(part or 0) if len(part) == 9 else int(seconds)


def report(text):
    """(lines, drops) of `trace-cmd report -t`, -l or not; a text goes on in lines without a head."""
    lines, drops = [], []
    for row in text.split("\n"):
        dropped = DROPPED.match(row)
        match = HEAD.match(row) or LATENCY.match(row)
        if dropped:
            drops.append(Drop(dropped["instance"] or "", int(dropped["cpu"]),
                              int(dropped["count"]) if dropped["count"] else None, len(lines)))
        elif match:
            pad = max(0, 20 - len(match["name"]))  # trace-cmd fills the name to 20 columns
            lines.append(Line(match["instance"] or "", match["comm"], int(match["pid"]),
                              int(match["cpu"]), nanoseconds(match["time"]), match["name"],
                              match["text"][pad:], match.groupdict().get("flags")))
        elif lines and not row.startswith("cpus="):
            lines[-1] = lines[-1]._replace(text=lines[-1].text + "\n" + row)
    if lines:
        lines[-1] = lines[-1]._replace(text=lines[-1].text.rstrip("\n"))
    return lines, drops


def cmdlines(text):
    """[(pid, comm)] of `trace-cmd dump --cmd-lines`."""
    return [(int(m[1]), m[2]) for m in
            (re.match(r"^(\d+) (.*)$", row) for row in text.split("\n")) if m]


def latency_flags(flags, count):
    """The five letters of the latency format, from common_flags and common_preempt_count."""
    hard, soft = flags & 0x08, flags & 0x10
    return "".join((
        "d" if flags & 1 else "X" if flags & 2 else ".",
        "N" if flags & 4 else ".",
        "H" if hard and soft else "h" if hard else "s" if soft else ".",
        "%x" % (count & 15) if count & 15 else ".",
        "%x" % (count >> 4) if count >> 4 else "."))


def raw_values(text, names):
    """{name: text} of a raw report's line, its fields being `names` in this order."""
    text, values, at = text.lstrip(" "), {}, 0
    places = []
    for name in names:
        mark = name + "="
        while True:
            at = text.find(mark, at)
            if at < 0:
                return None
            if at == 0 or text[at - 1] == " ":
                break
            at += 1
        places.append((at, at + len(mark)))
        at += len(mark)
    if places and places[0][0] != 0:
        return None
    for i, name in enumerate(names):
        end = places[i + 1][0] - 1 if i + 1 < len(names) else len(text)
        values[name] = text[places[i][1]:end]
    return values
