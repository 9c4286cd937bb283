"""Kernel traces of a worker that serves requests, told to the nanosecond what it does in each of them.

A request is begun, runs on CPU 0, sleeps in a system call, waits for its CPU on which "noisy" runs, runs again, ends. What ends
the sleep is one of: the thread "helper" (wait, lock), a timer (sleep), a disk (io).
"""
import struct

import kernel_ctf

TASK = "string comm; s32 tid; s32 prio; s32 target_cpu;"
NAMES = {"sched_waking": TASK, "sched_wakeup": TASK,
         "sched_migrate_task": "string comm; s32 tid; s32 prio; s32 orig_cpu; s32 dest_cpu;",
         "irq_handler_entry": "s32 irq; string name;", "irq_handler_exit": "s32 irq; s32 ret;",
         "irq_softirq_entry": "u32 vec;", "irq_softirq_exit": "u32 vec;",
         "timer_hrtimer_expire_entry": "u64 hrtimer; s64 now; u64 function;", "timer_hrtimer_expire_exit": "u64 hrtimer;",
         "power_cpu_frequency": "u32 state; u32 cpu_id;",
         "block_rq_issue": "u32 dev; u64 sector; u32 nr_sector;", "block_rq_complete": "u32 dev; u64 sector; u32 nr_sector;",
         "request_begin": "u64 id;", "request_end": "u64 id;"}
CALLS = {"wait": "read", "lock": "futex", "io": "pread64", "sleep": "clock_nanosleep"}
for call in CALLS.values():
    NAMES["syscall_entry_" + call] = "s64 a;"
    NAMES["syscall_exit_" + call] = "s64 ret;"
EVENTS = dict(enumerate(NAMES.items(), 1))
NUMBER = {name: number for number, (name, _) in EVENTS.items()}
EVERY, ORIGIN = 1_000_000, 5_000_000_000
DEFAULT = {"kind": "wait", "run1": 10_000, "sleeps": 30_000, "ready": 5_000, "run2": 5_000, "irq": 0, "moves": False,
           "khz": 3_000_000, "requests": 20, "workers": ["worker"], "run1_of": {}, "tid": 100, "spare_cpus": 0, "parent": None}


class Trace:
    def __init__(self, asked):
        self.own = dict(DEFAULT, **asked)
        self.records = []

    def tell(self, t, cpu, name, payload):
        self.records.append((t, len(self.records), cpu, struct.pack("<IQ", NUMBER[name], t) + payload))

    def switch(self, t, cpu, before, state, after):
        self.records.append((t, len(self.records), cpu, struct.pack("<IQ", 0, t) + before[0] + struct.pack(
            "<iiq", before[1], 20, state) + after[0] + struct.pack("<ii", after[1], 20)))

    def wake(self, t, by, thread, cpu):
        for name in ("sched_waking", "sched_wakeup"):
            self.tell(t, by, name, thread[0] + struct.pack("<iii", thread[1], 20, cpu))

    def request(self, base, number, worker, others):
        own, idle = self.own, (b"swapper\0", 0)
        helper, noisy = others
        begin = base + 10_000
        sleeps = begin + own["run1_of"].get(worker[0][:-1].decode(), own["run1"]) + own["irq"]
        ready = sleeps + own["sleeps"]
        runs = ready + own["ready"]
        ends = runs + own["run2"]
        second = 2 if own["moves"] else 0
        self.wake(base, 1, worker, 0)
        self.switch(base + 1000, 0, idle, 0, worker)
        self.tell(begin, 0, "request_begin", struct.pack("<Q", number))
        if own["irq"]:
            self.tell(begin + 1000, 0, "irq_handler_entry", struct.pack("<i", 24) + b"nvme\0")
            self.tell(begin + 1000 + own["irq"], 0, "irq_handler_exit", struct.pack("<ii", 24, 1))
        call = CALLS[own["kind"]]
        self.tell(sleeps - 200, 0, "syscall_entry_" + call, struct.pack("<q", 1))
        if own["kind"] == "io":
            self.tell(sleeps - 100, 0, "block_rq_issue", struct.pack("<IQI", 8 << 20 | 1, number, 8))
        self.switch(sleeps, 0, worker, 2 if own["kind"] == "io" else 1, noisy)
        self.end_sleep(begin, ready, number, worker, helper, second)
        if own["moves"]:
            self.switch(runs, 2, idle, 0, worker)
            self.switch(ends + 900, 0, noisy, 0, idle)
        else:
            self.switch(runs, 0, noisy, 0, worker)
        self.tell(runs + 200, second, "syscall_exit_" + call, struct.pack("<q", 1))
        self.tell(ends, second, "request_end", struct.pack("<Q", number))
        self.switch(ends + 1000, second, worker, 1, idle)

    def end_sleep(self, begin, t, number, worker, helper, cpu):
        idle, kind = (b"swapper\0", 0), self.own["kind"]
        if kind in ("wait", "lock"):
            self.wake(begin - 2000, 1, helper, 1)
            self.switch(begin - 1000, 1, idle, 0, helper)
        if kind == "io":
            self.tell(t - 1000, 1, "irq_handler_entry", struct.pack("<i", 25) + b"ahci\0")
            self.tell(t - 500, 1, "block_rq_complete", struct.pack("<IQI", 8 << 20 | 1, number, 8))
        if kind == "sleep":
            self.tell(t - 500, 1, "timer_hrtimer_expire_entry", struct.pack("<QqQ", 1, t, 2))
        if cpu:
            self.tell(t, 1, "sched_migrate_task", worker[0] + struct.pack("<iiii", worker[1], 20, 0, cpu))
        self.wake(t, 1, worker, cpu)
        if kind == "io":
            self.tell(t + 500, 1, "irq_handler_exit", struct.pack("<ii", 25, 1))
        if kind == "sleep":
            self.tell(t + 500, 1, "timer_hrtimer_expire_exit", struct.pack("<Q", 1))
        if kind in ("wait", "lock"):
            self.switch(t + 500, 1, helper, 1, idle)

    def interrupt_all(self, t, cpu):
        """One interrupt of each kind: from then on it is known that none is handled."""
        self.tell(t, cpu, "irq_handler_entry", struct.pack("<i", 1) + b"i8042\0")
        self.tell(t + 50, cpu, "irq_handler_exit", struct.pack("<ii", 1, 1))
        self.tell(t + 100, cpu, "irq_softirq_entry", struct.pack("<I", 1))
        self.tell(t + 150, cpu, "irq_softirq_exit", struct.pack("<I", 1))
        self.tell(t + 200, cpu, "timer_hrtimer_expire_entry", struct.pack("<QqQ", 1, t, 2))
        self.tell(t + 250, cpu, "timer_hrtimer_expire_exit", struct.pack("<Q", 1))

    def write(self, folder):
        own, idle = self.own, (b"swapper\0", 0)
        threads = [(name.encode() + b"\0", own["tid"] + i) for i, name in enumerate(own["workers"] + ["helper", "noisy"])]
        for cpu in range(3 + own["spare_cpus"]):
            self.tell(ORIGIN - 5000, cpu, "power_cpu_frequency", struct.pack("<II", own["khz"], cpu))
            self.switch(ORIGIN - 4000, cpu, threads[-1], 0, idle)
            self.interrupt_all(ORIGIN - 3900, cpu)
        for i in range(own["requests"] * len(own["workers"])):
            self.request(ORIGIN + i * EVERY, i, threads[i % len(own["workers"])], threads[-2:])
        streams = {cpu: b"" for cpu in range(3 + own["spare_cpus"])}
        for _, _, cpu, record in sorted(self.records):
            streams[cpu] += record
        kernel_ctf.write(folder, EVENTS, "", streams)


def write(folder, **asked):
    Trace(asked).write(folder)
