"""Questions about a trace that is not in memory, and about a thread that did nothing in all of it.

The files are dropped from the page cache (posix_fadvise) before each run, by bench-cold, which is
also the peer of `yore index`: it reads one page of each packet, 32 at a time. Wall seconds.
"""
import os
import shutil

from measure import cpu, middle, stats_of, warm


def cold(build, work, _corpus, args, report):
    label = "%g GB" % (args.large / 1e9)
    trace, known, fresh = work + "/cold", work + "/known", work + "/fresh"
    cpu([build + "/fixtures/yore-gen", "--out", trace, "--size", str(args.large), "--no-truth"])
    cpu([build + "/yore", "index", trace, "--index-dir", known])

    def bench(what):
        words = cpu([build + "/bench/bench-cold", trace, known, what])[2].stdout.decode().split()
        return float(words[5])

    def dropped(*command):
        shutil.rmtree(fresh, ignore_errors=True)
        bench("drop")
        return cpu([build + "/yore", *command, "--index-dir", fresh])[1]

    def asked():
        question = ["at", trace, "-1ms", "thread[4000000]/state"]  # of whom no event says anything
        return stats_of(cpu([build + "/yore", *question, "--index-dir", fresh, "--stats"])[2])

    def heads():  # of all events, without an index, on all threads
        words = cpu([build + "/bench/bench-sweep", trace, "heads", str(os.cpu_count()), "1"])[2].stdout.split()
        return float(words[2]) / float(words[4]) / 1e6

    middle_of = "+%dms" % (args.large / 1e9 * 4000)
    peer, indexing, first, sweep, slept, again = [], [], [], [], [], []
    for _ in range(min(args.rounds, 3)):
        peer.append(bench("read"))
        indexing.append(dropped("index", trace))
        first.append(dropped("at", trace, middle_of, "cpu[*]/thread"))
        for name in os.listdir(trace):  # what follows may find in memory what fits there
            warm(os.path.join(trace, name))
        sweep.append(heads())
        shutil.rmtree(fresh, ignore_errors=True)
        stats = asked()
        slept.append(stats["events_decoded"] / stats["seconds"] / 1e6)
        again.append(asked()["seconds"])
    report.row(label + " cold: yore index", middle(indexing), "s", middle(peer),
               "a page of each packet, 32 in flight", 1.3)
    report.row(label + " cold: first at, no index", middle(first), "s", wanted=1.5)
    report.row(label + ": a thread that did nothing", middle(slept), "M events/s", middle(sweep),
               "all heads, all threads")
    report.row(label + ": the same asked again", middle(again) * 1000, "ms")
    for folder in (trace, known, fresh):
        shutil.rmtree(folder, ignore_errors=True)
