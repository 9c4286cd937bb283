#!/usr/bin/python3
"""yore locks: waits in futexes, of raw system calls and by name, and who held the lock, against a naive reading of the events.

usage: futexes.py; one trace is made here and says in each line what is true, the other is fixtures/golden/demo as trace-cmd
report prints it. Without trace-cmd the rows that ask it are skipped.
"""
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
from results import finish, result, top, yore
import kernel_ctf

TASK = "string comm; s32 tid; s32 prio; s32 target_cpu;"
NUMBER = "enum : s64 { write = 1, futex = 202, futex_time64 = 422 } id;"
FUTEX = "u64 uaddr; s32 op; u32 val; u64 utime; u64 uaddr2; u32 val3;"
EVENTS = {1: ("sched_waking", TASK), 2: ("sched_wakeup", TASK), 3: ("irq_handler_entry", "s32 irq; string name;"),
          4: ("irq_handler_exit", "s32 irq; s32 ret;"), 5: ("irq_softirq_entry", "u32 vec;"), 6: ("irq_softirq_exit", "u32 vec;"),
          7: ("timer_hrtimer_expire_entry", "u64 hrtimer;"), 8: ("timer_hrtimer_expire_exit", "u64 hrtimer;"),
          9: ("contention_begin", "u64 lock_addr; u32 flags;"), 10: ("contention_end", "u64 lock_addr; s32 ret;")}
RAW = {11: ("sys_enter", NUMBER + " u64 args[6];"), 12: ("sys_exit", NUMBER + " s64 ret;")}
NAMED = {13: ("sys_enter_futex", FUTEX), 14: ("sys_exit_futex", "s64 ret;"), 15: ("sys_enter_futex_time64", FUTEX),
         16: ("sys_exit_futex_time64", "s64 ret;")}
WAITS, WAKES = {0, 6, 9, 11, 13}, {1, 3, 4, 5, 7, 10, 12}
WAITER, HOLDER, OTHER = 100, 200, 300
X, Y = 0x5000, 0x6000


class Trace:
    """WAITER waits on CPU 0; HOLDER and OTHER run on CPU 1, and what they do in turn is told before each of them."""

    def __init__(self, raw, named):
        self.raw, self.named, self.t, self.records, self.truth = raw, named, 1000, [], []
        self.on = {0: WAITER, 1: HOLDER}
        self.switch(0, 0, WAITER, 0)
        self.switch(1, 0, HOLDER, 0)
        for cpu in (0, 1):  # so that it is known that no interrupt is handled from then on
            self.tell(cpu, 3, struct.pack("<i", 5) + b"disk\0")
            self.tell(cpu, 4, struct.pack("<ii", 5, 1))
            self.tell(cpu, 5, struct.pack("<I", 1))
            self.tell(cpu, 6, struct.pack("<I", 1))
            self.timer_runs(cpu, lambda: None)

    def tell(self, cpu, number, payload, tid=None):
        self.t += 10
        tid = self.on[cpu] if tid is None else tid
        self.records.append((cpu, struct.pack("<IQi", number, self.t, tid) + payload))
        return self.t

    def switch(self, cpu, before, after, state):
        self.tell(cpu, 0, b"t%d\0" % before + struct.pack("<iiq", before, 20, state) + b"t%d\0" % after
                  + struct.pack("<ii", after, 20), before)
        self.on[cpu] = after

    def enter(self, cpu, op, address, second=0, call=202):
        t = self.tell(cpu, 11, struct.pack("<q6Q", call, address, op, 0, 0, second, 0)) if self.raw else None
        if self.named and call != 1:
            at = self.tell(cpu, 15 if call == 422 else 13, struct.pack("<QiIQQI", address, op, 0, 0, second, 0))
            t = t or at
        return t

    def leave(self, cpu, ret=0, call=202):
        t = self.tell(cpu, 16 if call == 422 else 14, struct.pack("<q", ret)) if self.named and call != 1 else None
        return self.tell(cpu, 12, struct.pack("<qq", call, ret)) if self.raw else t

    def sleep(self):
        self.switch(0, WAITER, 0, 1)

    def wake(self, cpu, waking=True, wakeup=True):
        for number, told in ((1, waking), (2, wakeup)):
            if told:
                self.tell(cpu, number, b"t%d\0" % WAITER + struct.pack("<iii", WAITER, 20, 0))

    def runs(self):
        self.switch(0, 0, WAITER, 0)

    def wait(self, ends, holder, op=128, address=X, ret=0, call=202):
        """A wait, during which ends() is what happens; None: it does not sleep."""
        begin = self.enter(0, op, address, call=call)
        if ends:
            self.sleep()
            ends()
            self.runs()
        self.truth.append((begin, self.leave(0, ret, call), WAITER, address, "futex", holder))

    def wakes(self, op, address, second=0, call=202, **told):
        self.enter(1, op, address, second, call)
        self.wake(1, **told)
        self.leave(1, 1, call)

    def contend(self, ends, holder, ret=0):
        begin = self.tell(0, 9, struct.pack("<QI", Y, 0))
        if ends:
            self.sleep()
            ends()
            self.runs()
        self.truth.append((begin, self.tell(0, 10, struct.pack("<Qi", Y, ret)), WAITER, Y, "kernel", holder))

    def late(self):
        """Another CPU is asked to wake it: it does so when the call that woke has ended."""
        self.wakes(129, X, wakeup=False)
        self.wake(0, waking=False)

    def timer_runs(self, cpu, what):
        self.tell(cpu, 7, struct.pack("<Q", 1))
        what()
        self.tell(cpu, 8, struct.pack("<Q", 1))

    def timer(self):
        """In an interrupt, while HOLDER wakes others that wait there."""
        self.enter(1, 129, X)
        self.timer_runs(1, lambda: self.wake(1))
        self.leave(1, 0)

    def signal(self):
        self.enter(1, 0, 0, call=1)
        self.wake(1)
        self.leave(1, 0, 1)

    def twice(self):
        """It sleeps again, since what it waited for was gone; another one ends that."""
        self.wakes(129, X)
        self.runs()
        self.switch(1, HOLDER, OTHER, 0)
        self.sleep()
        self.wakes(129, X)
        self.switch(1, OTHER, HOLDER, 0)

    def all(self):
        self.wait(lambda: self.wakes(129, X), HOLDER)
        self.wait(lambda: self.wake(1, waking=False), None)  # who did is not recorded, and HOLDER woke it before
        self.wait(lambda: self.wakes(129, Y), None)  # of another address
        self.wait(self.timer, None, ret=-110)
        self.wait(self.signal, None, ret=-4)
        self.wait(None, None, ret=-11)
        self.wait(self.late, HOLDER, op=0x189)  # WAIT_BITSET, private, realtime
        self.wait(self.twice, OTHER)
        self.wait(lambda: self.wakes(7, X), HOLDER, op=6)  # LOCK_PI, UNLOCK_PI
        self.wait(lambda: self.wakes(7, X), HOLDER, op=13)
        self.wait(lambda: self.wakes(133, X, Y), HOLDER, address=Y)  # WAKE_OP's second address
        self.wait(lambda: self.wakes(132, X, Y), None, address=Y)  # CMP_REQUEUE wakes at its first alone
        self.wait(lambda: self.wakes(129, X, call=422), HOLDER, call=422)
        self.contend(lambda: self.wake(1), HOLDER)
        self.contend(self.timer, None)
        self.contend(lambda: self.wake(1), None, ret=-4)
        self.contend(None, None)

    def write(self, folder):
        self.all()
        events = {**EVENTS, **(RAW if self.raw else {}), **(NAMED if self.named else {})}
        kernel_ctf.write(folder, events, "event.context := struct { s32 tid; };",
                         {cpu: b"".join(data for at, data in self.records if at == cpu) for cpu in (0, 1)})
        return folder


def ask(trace, *words):
    done = subprocess.run([yore, "locks", trace, *words, "--format", "json", "--no-index"], capture_output=True, text=True,
                          check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    for row in rows:
        row["lock"] = int(row["lock"], 16) if isinstance(row["lock"], str) else row["lock"]
    return rows, done.stderr


def compare(name, trace, truth):
    """truth: (begin, end, tid, lock, kind, holder) of each wait."""
    rows, said = ask(trace, "log")
    ours = [(r["begin"], r["end"], r["tid"], r["lock"], r["kind"], r["holder"]) for r in rows]
    result(sorted(ours, key=str) == sorted(truth, key=str), f"{name}: {len(truth)} waits and their holders",
           [sorted(set(ours) ^ set(truth), key=str), said])
    for verb, keys, of in (("stats", ("lock", "kind"), (3, 4)), ("threads", ("lock", "kind", "tid"), (3, 4, 2)),
                           ("holders", ("lock", "kind", "holder"), (3, 4, 5))):
        sums = collections.defaultdict(list)
        for wait in truth:
            sums[tuple(wait[i] for i in of)].append(wait[1] - wait[0])
        theirs = {key: (len(all_of), sum(all_of), max(all_of)) for key, all_of in sums.items()}
        rows, said = ask(trace, verb)
        ours = {tuple(r[key] for key in keys): (r["count"], r["total"], r["max"]) for r in rows}
        result(ours == theirs and len(rows) == len(theirs), f"{name}: {verb}", [ours, theirs, said])


LINE = re.compile(r"^.*-(\d+) +\[\d+\] +(\d+)\.(\d{9}): +(\w+): +(.*)$")


def naive(path):
    """What trace-cmd report prints: a wait's holder is in a call that wakes its address when it wakes the waiter."""
    text = subprocess.run(["trace-cmd", "report", "-t", path], capture_output=True, text=True, check=False).stdout
    inside, woken, waits = {}, {}, []
    for line in text.splitlines():
        found = LINE.match(line)
        if not found:
            continue
        tid, t, event, rest = int(found[1]), int(found[2]) * 10**9 + int(found[3]), found[4], found[5]
        call = re.match(r"NR (\d+) \(([0-9a-f, ]+)\)", rest)
        if event == "sys_enter":
            words = [int(word, 16) for word in call[2].split(", ")]
            inside[tid] = (t, words[0], words[1] & 0x7f) if call[1] == "202" else None
            woken.pop(tid, None)
        elif event == "sys_exit":
            begun = inside.pop(tid, None)
            if begun and begun[2] in WAITS:
                waits.append((begun[0], t, tid, begun[1], "futex", woken.get(tid)))
        elif event == "sched_waking":
            whom, by = int(re.search(r" pid=(\d+)", rest)[1]), inside.get(tid)
            waiting = inside.get(whom)
            held = by and waiting and by[2] in WAKES and by[1] == waiting[1]
            woken[whom] = tid if held else None
    return waits


def main():
    with tempfile.TemporaryDirectory() as work:
        for name, raw, named in (("raw", True, False), ("by name", False, True), ("raw and by name", True, True)):
            made = Trace(raw, named)
            folder = made.write(os.path.join(work, name.replace(" ", "-")))
            compare(name, folder, made.truth)
    demo = os.path.join(top, "fixtures", "golden", "demo", "trace.dat")
    if shutil.which("trace-cmd"):
        truth = naive(demo)
        result(len(truth) > 50, "trace-cmd report has waits in futexes", len(truth))
        compare("demo", demo, truth)
    else:
        print("SKIP: waits of the demo recording: trace-cmd is not installed")
    finish()


if __name__ == "__main__":
    main()
