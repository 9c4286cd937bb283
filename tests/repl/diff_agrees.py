#!/usr/bin/python3
"""diff_agrees.py [YORE]: what diff prints is what `at` says at both moments, and costs what these cost.

A simulated trace is compared between pairs of moments, with and without an index. Each attribute that a list has at one of
the moments is asked by its path at the other one, where that does not list it: diff prints those whose values differ, and no
others. With an index that has checkpoints diff decodes at most 1.3 times the events of the two questions."""
import json, os, shutil, subprocess, sys, tempfile

build = os.environ.get("top_builddir", ".")
yore = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else build + "/yore")
generator = os.path.abspath(build + "/fixtures/yore-gen")
work = tempfile.mkdtemp(prefix="yore-diff-")
environment = dict(os.environ, TZ="UTC", XDG_CACHE_HOME=work + "/cache", XDG_CONFIG_HOME=work + "/config")
trace = work + "/trace"
PAIRS = (("+1ms", "+60ms"), ("+20ms", "+21ms"), ("+55ms", "+2ms"), ("+30ms", "+10s"))
ASKED = 200  # paths in one question
failures = compared = 0


def fail(text):
    global failures
    failures += 1
    print("FAIL: " + text)


def ask(*words):
    """Rows, and how many events were decoded."""
    done = subprocess.run([yore, *words, "--format", "json", "--stats", "--quiet"], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        fail("%s: %s" % (" ".join(words), done.stderr.decode()[-300:]))
        return [], 0
    rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return rows, json.loads(done.stderr.decode().splitlines()[-1])["events_decoded"]


def value(row, member="value", known="known"):
    return "unknown" if row.get(known) is False else repr(row[member])


def values_at(moment, paths, options):
    found = {}
    for i in range(0, len(paths), ASKED):
        for row in ask("at", trace, moment, *paths[i:i + ASKED], *options)[0]:
            found[row["path"]] = value(row)
    return found


def compare(pair, options):
    global compared
    listed = [{row["path"]: value(row) for row in ask("at", trace, moment, "**", *options)[0]} for moment in pair]
    told = [dict(listed[i], **values_at(pair[i], sorted(set(listed[1 - i]) - set(listed[i])), options)) for i in range(2)]
    wanted = {path: (told[0][path], told[1][path]) for path in told[0] if told[0][path] != told[1][path]}
    rows = ask("diff", trace, *pair, "**", *options)[0]
    got = {row["path"]: (value(row, "before", "before_known"), value(row, "after", "after_known")) for row in rows}
    compared += len(told[0])
    if not wanted or len(got) != len(rows):
        fail("%s: %d differ, %d rows" % (pair, len(wanted), len(rows)))
    for path in sorted(set(wanted) | set(got)):
        if wanted.get(path) != got.get(path):
            fail("%s %s: diff says %s, at %s" % (pair, path, got.get(path), wanted.get(path)))
            return


def check_cost(pair):
    each = [ask("at", trace, moment, "**")[1] for moment in pair]
    both = ask("diff", trace, *pair, "**")[1]
    if both > 1.3 * sum(each):
        fail("%s: diff decodes %d events, the two moments %s" % (pair, both, each))


try:
    subprocess.run([generator, "--out", trace, "--size", "16M", "--threads", "300", "--no-truth"], check=True)
    for options in (["--no-index"], []):
        for pair in PAIRS:
            compare(pair, options)
    ask("at", trace, "-0ms", "**")  # leaves checkpoints
    check_cost(("+1ms", "+60ms"))
    check_cost(("+20ms", "+21ms"))
finally:
    shutil.rmtree(work, ignore_errors=True)
print("%d values compared, %d failures" % (compared, failures))
sys.exit(failures != 0)
