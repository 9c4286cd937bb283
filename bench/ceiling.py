"""What one core can do: a decoder that knows LTTng's shapes only, built with yore's own flags.

$YORE_CEILING names a folder with decode-ceiling.c and mklayout.py; without it the figures are left
out, and that is said. Its modes are those of bench-decode: 0 heads, 1 fields, 2 merge, 3 all.
"""
import os
import statistics
import subprocess
import sys

from measure import made_with

MODES = {"heads": "0", "fields": "1", "merge": "2", "all": "3"}


class Ceiling:
    """Programs by name: built with yore's flags, and with all that this processor has."""

    def __init__(self, build, work):
        folder = os.environ.get("YORE_CEILING", "")
        source = os.path.join(folder, "decode-ceiling.c")
        self.programs, self.maker = {}, os.path.join(folder, "mklayout.py")
        if not folder or not os.path.exists(source):
            print("the ceiling: skipped: YORE_CEILING names no folder with decode-ceiling.c")
            return
        compiler, flags = made_with(build, "CC"), made_with(build, "CFLAGS")
        for name, more in (("ceiling", []), ("ceiling, native", ["-march=native"])):
            command = compiler + flags + more + ["-std=gnu11", "-w", "-pthread", source,
                                                 "-o", work + "/" + name.replace(", ", "-")]
            done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
            if done.returncode:
                print("%s: skipped: %s" % (name, done.stderr.decode()[-200:]))
                continue
            self.programs[name] = command[-1]
            print("%s: %s" % (name, " ".join(compiler + flags + more)))

    def layout_of(self, trace, work):
        """False: the trace has what the ceiling leaves out."""
        done = subprocess.run([sys.executable, self.maker, trace], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
        with open(work + "/layout", "wb") as file:
            file.write(done.stdout)
        return done.returncode == 0

    def round(self, name, trace, mode, work):
        """Million events a second of CPU, the best of its five rounds."""
        files = sorted(os.path.join(trace, f) for f in os.listdir(trace)
                       if f != "metadata" and os.path.isfile(os.path.join(trace, f)))
        done = subprocess.run([self.programs[name], work + "/layout", MODES[mode], "1"] + files,
                              stdout=subprocess.PIPE, check=True)
        words = done.stdout.decode().split()
        return float(words[words.index("Mev/s,") - 1])


def compare(ceiling, build, name, trace, work, rounds, report):
    """yore beside the ceiling, by turns: the best of five rounds of a process, median of these."""
    if not ceiling.programs or not ceiling.layout_of(trace, work):
        return
    rates = {}
    for _ in range(rounds):
        for mode in MODES:
            done = subprocess.run([build + "/bench/bench-decode", trace, mode, "5"],
                                  stdout=subprocess.PIPE, check=True)
            words = done.stdout.decode().split()
            rates.setdefault((mode, "yore"), []).append(int(words[2]) / float(words[6]) / 1e6)
            for program in ceiling.programs:
                rates.setdefault((mode, program), []).append(
                    ceiling.round(program, trace, mode, work))
    asked = {"heads": 0.8, "all": 0.8}
    for (mode, who), values in rates.items():
        if who == "yore":
            continue
        report.row("%s: %s" % (name, mode), statistics.median(rates[mode, "yore"]),
                   "M events/s", statistics.median(values), who,
                   asked.get(mode) if who == "ceiling" else None)
