#!/usr/bin/python3
"""ovni_prv_agree.py YORE CORPUS - `convert --to prv` against the Paraver traces that ovniemu wrote.

Sorted, and without lines that say again what their row and type show already (ovniemu writes some,
yore none), the lines must be the same; so must the headers and the names of rows, and titles and
labels of all types that lines have.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
import ovni_state_agree  # noqa: E402
import ovni_tool  # noqa: E402
import yore_says  # noqa: E402


def changes(text):
    """(time, row, type, value), sorted, without repetitions."""
    found = []
    for (row, kind), series in ovni_state_agree.drawn(text).items():
        before = 0
        for time, value in zip(series.times, series.values):
            if value != before:
                found.append((time, row, kind, value))
            before = value
    return sorted(found)


def check(program, corpus, name):
    report = yore_says.Report("prv " + name)
    count = 0
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "out")
        done = yore_says.run(program, "convert", os.path.join(corpus, name, "ovni"), out, "--to",
                             "prv", "--no-index", "--quiet")
        report.same("exit status", done.returncode, 0)
        if done.returncode:
            report.differs(done.stderr.decode())
            return report.close()
        for file in ("thread", "cpu"):
            mine, theirs = [{end: ovni_tool.read(folder, file + end) for end in (".prv", ".row", ".pcf")}
                            for folder in (out, os.path.join(corpus, name, "expected"))]
            ours, wanted = changes(mine[".prv"]), changes(theirs[".prv"])
            for line in sorted(set(ours) ^ set(wanted))[:5]:
                report.differs("%s.prv: %r is %s" % (file, line, "more" if line in ours else "missing"))
            report.same("lines of " + file, len(ours), len(wanted))
            written = len(mine[".prv"].splitlines()) - 1
            report.same("lines of %s written" % file, written, len(ours))
            report.same("header of " + file, mine[".prv"].split("\n")[0], theirs[".prv"].split("\n")[0])
            report.same("rows of " + file, ovni_state_agree.rows(mine[".row"], "LEVEL THREAD"),
                        ovni_state_agree.rows(theirs[".row"], "LEVEL THREAD"))
            own, known = (ovni_state_agree.labels(text[".pcf"]) for text in (mine, theirs))
            drawn = {(kind, value) for _, _, kind, value in wanted}
            for (kind, label), value in known.items():
                if (kind, value) in drawn:
                    report.same("label of %d, %d" % (kind, value), own.get((kind, label)), value)
            count += len(ours)
    report.facts.append("%d lines" % count)
    return report.close()


def main():
    program, corpus = sys.argv[1:]
    failed = 0
    for name in ovni_tool.cases(corpus):
        if not name.startswith("corrupt-") and name not in ovni_state_agree.UNSORTED and \
                ovni_tool.read(corpus, name, "expected", "thread.prv"):
            failed += not check(program, corpus, name)
    print("ovni to Paraver: %d failed" % failed)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
