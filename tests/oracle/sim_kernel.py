"""A simulated machine under Linux that writes what LTTng's kernel tracer would: CTF 1.8.

CPUs with a frequency and a queue of threads each, a fair scheduler (time slices, preemption by threads that wake
up, idle CPUs that pull work), interrupts and softirqs that take time from whoever runs, timers, locks by futex,
pipes, a disk, and caches that are cold after a change of CPU. Threads are generators that yield ("run", ns of
work at full speed) and ("block", why).

Between its marks `begin` and `end` a thread serves a request. The machine adds up, for all requests, which time
went where: that is the truth, told by what was done and not by what was written.
"""
import collections
import heapq
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lua"))
import kernel_ctf

TASK = "string comm; s32 tid; s32 prio; s32 target_cpu;"
NAMES = [
    ("sched_waking", TASK), ("sched_wakeup", TASK),
    ("sched_migrate_task", "string comm; s32 tid; s32 prio; s32 orig_cpu; s32 dest_cpu;"),
    ("irq_handler_entry", "s32 irq; string name;"), ("irq_handler_exit", "s32 irq; s32 ret;"),
    ("irq_softirq_raise", "u32 vec;"), ("irq_softirq_entry", "u32 vec;"), ("irq_softirq_exit", "u32 vec;"),
    ("power_cpu_frequency", "u32 state; u32 cpu_id;"),
    ("timer_hrtimer_expire_entry", "u64 hrtimer; s64 now; u64 function;"),
    ("timer_hrtimer_expire_exit", "u64 hrtimer;"),
    ("block_rq_issue", "u32 dev; u64 sector; u32 nr_sector; u32 bytes; s32 tid; u32 rwbs; string comm;"),
    ("block_rq_complete", "u32 dev; u64 sector; u32 nr_sector; s32 error; u32 rwbs;"),
    ("syscall_entry_futex", "u64 uaddr; s32 op; u32 val; u64 utime; u64 uaddr2; u32 val3;"),
    ("syscall_exit_futex", "s64 ret; u64 uaddr; u64 uaddr2;"),
    ("contention_begin", "u64 lock_addr; u32 flags;"), ("contention_end", "u64 lock_addr; s32 ret;"),
    ("request_begin", "u64 id;"), ("request_end", "u64 id;"),
] + [("syscall_%s_%s" % (edge, call), fields) for call, entry in (
    ("read", "u32 fd; u64 count;"), ("write", "u32 fd; u64 buf; u64 count;"), ("epoll_wait", "s32 epfd; s32 timeout;"),
    ("sendto", "s32 fd; u64 len; u32 flags;"), ("pread64", "u32 fd; u64 count; s64 pos;"),
    ("clock_nanosleep", "s32 which_clock; s32 flags; u64 rqtp;"),
) for edge, fields in (("entry", entry), ("exit", "s64 ret;"))]
EVENTS = {number: item for number, item in enumerate(NAMES, 1)}
NUMBER = {name: number for number, (name, _) in EVENTS.items()}
FULL_SPEED = 3_000_000  # kHz
SLICE, CREDIT = 2_500_000, 1_000_000  # ns: a time slice, and what a thread that slept is ahead of others


class Thread:
    def __init__(self, tid, comm, allowed, weight=1.0, top=False):
        self.tid, self.comm, self.allowed, self.weight, self.top = tid, comm, allowed, weight, top
        self.bytes = comm.encode() + b"\0"
        self.prio = 0 if top else 20
        self.state, self.why, self.since = "new", None, 0
        self.cpu = allowed[0]
        self.vruntime = self.left = self.cold = 0
        self.body = self.unit = self.cpu_ran = None


class Cpu:
    def __init__(self, number):
        self.number = number
        self.t = 0                  # when the CPU is done with what was simulated
        self.khz = FULL_SPEED
        self.idle = Thread(0, "swapper/%d" % number, [number])
        self.current, self.queue, self.version = self.idle, [], 0
        self.from_t = self.slice_end = self.floor = 0
        self.in_irq, self.pending, self.resched = False, collections.deque(), False
        self.records = []


class Lock:
    def __init__(self, address):
        self.address, self.owner, self.waiters = address, None, collections.deque()


class Channel:
    """Messages for one thread."""
    def __init__(self):
        self.messages, self.reader = collections.deque(), None


class Machine:
    def __init__(self, seed, cpus, options):
        self.random = random.Random(seed)
        self.options = options
        self.cpus = [Cpu(number) for number in range(cpus)]
        self.heap, self.count, self.now = [], 0, 1_000_000_000
        self.threads, self.tid = [], options["first_tid"]
        self.disk_free, self.over = [0] * 4, False
        self.sums, self.lengths = collections.Counter(), []
        self.stoppers = []
        for cpu in self.cpus:
            cpu.t = self.now
            stopper = self.thread("migration/%d" % cpu.number, [cpu.number], top=True)
            stopper.moves = collections.deque()
            self.start(stopper, self.stop_work(stopper))
            self.stoppers.append(stopper)
            if options["tells_frequency"]:
                self.set_frequency(cpu, options["khz"][cpu.number % len(options["khz"])])

    # Time

    def at(self, time, what, *args):
        self.count += 1
        heapq.heappush(self.heap, (int(time), self.count, what, args))

    def after(self, span, what, *args):
        self.at(self.now + span, what, *args)

    def spread(self, mean, cv=0.3):
        """A length of time: log-normal about, with a mean and a coefficient of variation."""
        return max(200, int(mean * self.random.lognormvariate(-cv * cv / 2, cv)))

    def often(self, mean):
        return int(self.random.expovariate(1 / mean)) + 1

    def work(self):
        while self.heap and not self.over:
            self.now, _, what, args = heapq.heappop(self.heap)
            what(*args)

    # Records

    def emit(self, cpu, number, payload):
        cpu.t = max(cpu.t, self.now) + 30 + int(self.random.random() * 90)
        context = struct.pack("<i", cpu.current.tid) if self.options["has_context"] else b""
        cpu.records.append(struct.pack("<IQ", number, cpu.t) + context + payload)

    def tell(self, cpu, name, layout="", *values):
        self.emit(cpu, NUMBER[name], struct.pack("<" + layout, *values))

    def write(self, folder):
        context = "\n\tevent.context := struct { s32 tid; };" if self.options["has_context"] else ""
        kernel_ctf.write(folder, EVENTS, context, {cpu.number: b"".join(cpu.records) for cpu in self.cpus})

    # Threads

    def thread(self, comm, allowed=None, weight=1.0, top=False):
        self.tid += self.random.randrange(1, 9)
        made = Thread(self.tid, comm, allowed or list(range(len(self.cpus))), weight, top)
        made.cpu = self.random.choice(made.allowed)
        self.threads.append(made)
        return made

    def start(self, thread, body):
        thread.body = body
        thread.state, thread.since = "blocked", self.now
        self.after(self.random.randrange(1000, 900_000), self.first, thread)

    def first(self, thread):
        self.wake(self.cpus[thread.cpu], thread)

    def account(self, thread, kind, span):
        if thread.unit is not None:
            thread.unit[kind] += span

    # The scheduler

    def pause(self, cpu):
        """The thread that runs stops to advance, now."""
        cpu.t = max(cpu.t, self.now)
        cpu.version += 1
        thread = cpu.current
        if thread is cpu.idle or cpu.in_irq:
            return
        span = max(0, cpu.t - cpu.from_t)
        done = min(thread.left, span * cpu.khz / FULL_SPEED)
        thread.left -= done
        thread.vruntime += span / thread.weight
        cold = min(thread.cold, done)
        thread.cold -= cold
        self.account(thread, "migration", cold)
        self.account(thread, "running", done - cold)
        self.account(thread, "frequency", span - done)
        cpu.from_t = cpu.t

    def resume(self, cpu):
        """The thread of the CPU goes on: with what is left to run, or with its next step."""
        thread = cpu.current
        if thread is cpu.idle:
            return
        while thread.left < 1:
            kind, what = next(thread.body)
            if kind == "run":
                thread.left = what
            else:
                thread.state, thread.why = "blocked", what
                self.schedule(cpu)
                return
        cpu.from_t = cpu.t
        cpu.version += 1
        self.at(cpu.t + thread.left * FULL_SPEED / cpu.khz + 1, self.done, cpu, cpu.version)
        if cpu.queue:
            self.at(max(cpu.slice_end, cpu.t), self.tick, cpu, thread)

    def done(self, cpu, version):
        if version == cpu.version and not cpu.in_irq:
            self.pause(cpu)
            cpu.current.left = 0
            self.resume(cpu)

    def tick(self, cpu, thread):
        if cpu.current is thread and cpu.queue and self.now >= cpu.slice_end:
            self.resched(cpu)

    def resched(self, cpu):
        if cpu.in_irq:
            cpu.resched = True
            return
        self.pause(cpu)
        self.schedule(cpu)

    def schedule(self, cpu):
        cpu.resched = False
        previous = cpu.current
        if previous is not cpu.idle and previous.state == "running":
            previous.state, previous.since = "ready", cpu.t
            cpu.queue.append(previous)
        if not cpu.queue:
            self.pull(cpu)
        following = min(cpu.queue, key=lambda one: (not one.top, one.vruntime)) if cpu.queue else cpu.idle
        if following is previous and previous is not cpu.idle:
            cpu.queue.remove(previous)
            previous.state = "running"
            cpu.slice_end = cpu.t + SLICE
            self.resume(cpu)
            return
        if following is not previous:
            self.switch(cpu, previous, following)
        self.resume(cpu)

    def switch(self, cpu, previous, following):
        code = 0
        if previous.state == "blocked":
            code = 2 if previous.why == "io" or previous.why == "lock" and self.options["kernel_lock"] else 1
        self.emit(cpu, 0, previous.bytes + struct.pack("<iiq", previous.tid, previous.prio, code)
                  + following.bytes + struct.pack("<ii", following.tid, following.prio))
        if previous is not cpu.idle:
            previous.since = cpu.t
        if following is not cpu.idle:
            cpu.queue.remove(following)
            self.account(following, "ready", cpu.t - following.since)
            following.state = "running"
            following.left += self.random.randrange(600, 1600)
            cpu.floor = max(cpu.floor, following.vruntime)
            if following.cpu_ran not in (None, cpu.number):
                following.cold = self.spread(self.options["cold"], 0.4)
                following.left += following.cold
            following.cpu_ran = cpu.number
            cpu.slice_end = cpu.t + SLICE
        cpu.current = following
        cpu.version += 1

    def pull(self, cpu):
        """A CPU that is about to idle takes a thread that waits elsewhere."""
        for other in sorted(self.cpus, key=lambda one: -len(one.queue)):
            for thread in other.queue:
                if cpu.number in thread.allowed and not thread.top and self.random.random() < 0.7:
                    other.queue.remove(thread)
                    self.move(cpu, thread, cpu)
                    cpu.queue.append(thread)
                    return

    def move(self, by, thread, to):
        self.emit(by, NUMBER["sched_migrate_task"], thread.bytes
                  + struct.pack("<iiii", thread.tid, thread.prio, thread.cpu, to.number))
        thread.vruntime += to.floor - self.cpus[thread.cpu].floor
        thread.cpu = to.number

    def target(self, thread):
        """The CPU on which a thread that wakes up is going to run."""
        own = self.cpus[thread.cpu]
        if len(thread.allowed) == 1:
            return own
        idle = [self.cpus[n] for n in thread.allowed
                if self.cpus[n].current is self.cpus[n].idle and not self.cpus[n].queue]
        if own in idle and self.random.random() < self.options["sticky"]:
            return own
        return self.random.choice(idle) if idle else own

    def wake(self, by, thread):
        if thread.state != "blocked":
            return
        by.t = max(by.t, self.now, thread.since + 50)
        self.emit(by, NUMBER["sched_waking"], thread.bytes
                  + struct.pack("<iii", thread.tid, thread.prio, thread.cpu))
        if thread.why:
            self.account(thread, thread.why, by.t - thread.since)
        to = self.target(thread)
        if to.number != thread.cpu:
            self.move(by, thread, to)
        self.emit(by, NUMBER["sched_wakeup"], thread.bytes
                  + struct.pack("<iii", thread.tid, thread.prio, to.number))
        thread.state, thread.since, thread.why = "ready", by.t, None
        thread.vruntime = max(thread.vruntime, to.floor - CREDIT)
        to.queue.append(thread)
        now = to.current
        if now is to.idle:
            self.at(by.t + self.spread(3000 if to is not by else 800, 0.5), self.resched, to)
        elif thread.top or thread.vruntime + self.options["granularity"] < now.vruntime + max(0, self.now - to.from_t):
            self.at(by.t + self.spread(1500, 0.3), self.resched, to)
        else:
            self.at(max(to.slice_end, by.t), self.tick, to, now)

    def stop_work(self, stopper):
        while True:
            while not stopper.moves:
                yield "block", None
            yield "run", self.spread(1800)
            thread = stopper.moves.popleft()
            here = self.cpus[stopper.cpu]
            others = [self.cpus[n] for n in thread.allowed if self.cpus[n].current is self.cpus[n].idle]
            if thread in here.queue and others:
                here.queue.remove(thread)
                to = self.random.choice(others)
                self.move(here, thread, to)
                to.queue.append(thread)
                self.at(here.t + 1500, self.resched, to)

    def push_away(self, thread):
        """The balancer has a thread that runs moved to another CPU."""
        if thread.state == "running":
            stopper = self.stoppers[thread.cpu]
            stopper.moves.append(thread)
            self.wake(self.cpus[thread.cpu], stopper)

    def set_frequency(self, cpu, khz):
        self.pause(cpu)
        self.tell(cpu, "power_cpu_frequency", "II", khz, cpu.number)
        cpu.khz = khz
        if not cpu.in_irq:
            self.resume(cpu)

    # Interrupts: parts are (kind, number, name, length, what to do)

    def interrupt(self, cpu, parts):
        cpu.pending.extend(parts)
        if not cpu.in_irq:
            self.pause(cpu)
            cpu.in_irq = True
            cpu.irq_from = cpu.t
            self.next_part(cpu)

    def next_part(self, cpu):
        kind, number, name, length, _ = cpu.pending[0]
        if kind == "irq":
            self.emit(cpu, NUMBER["irq_handler_entry"], struct.pack("<i", number) + name.encode() + b"\0")
        elif kind == "softirq":
            self.tell(cpu, "irq_softirq_entry", "I", number)
        else:
            self.tell(cpu, "timer_hrtimer_expire_entry", "QqQ", number, self.now, 0xffffffff81100000)
        self.at(cpu.t + length, self.end_part, cpu)

    def end_part(self, cpu):
        kind, number, _, _, action = cpu.pending.popleft()
        cpu.t = max(cpu.t, self.now)
        if action:
            action(cpu)
        if kind == "irq":
            self.tell(cpu, "irq_handler_exit", "ii", number, 1)
        elif kind == "softirq":
            self.tell(cpu, "irq_softirq_exit", "I", number)
        else:
            self.tell(cpu, "timer_hrtimer_expire_exit", "Q", number)
        if cpu.pending:
            self.next_part(cpu)
            return
        cpu.in_irq = False
        self.account(cpu.current, "interrupt", cpu.t - cpu.irq_from)
        cpu.from_t = cpu.t
        if cpu.resched:
            self.schedule(cpu)
        else:
            self.resume(cpu)

    # What threads do. Each is a generator of steps.

    def here(self, thread):
        return self.cpus[thread.cpu]

    def run(self, mean, cv=0.3):
        yield "run", self.spread(mean, cv)

    def call(self, thread, name, layout, *values):
        self.tell(self.here(thread), "syscall_entry_" + name, layout, *values)
        yield "run", self.spread(500)

    def leave(self, thread, name, ret, *more):
        self.tell(self.here(thread), "syscall_exit_" + name, "q" + "Q" * len(more), ret, *more)

    def sleep(self, thread, span, why="sleep"):
        yield from self.call(thread, "clock_nanosleep", "iiQ", 1, 0, thread.tid << 20)
        timer = 0xffff888000000000 + (thread.tid << 8)
        self.after(span, self.expire, thread.cpu, timer, thread)
        yield "block", why
        self.leave(thread, "clock_nanosleep", 0)

    def expire(self, number, timer, thread):
        self.interrupt(self.cpus[number], [("timer", timer, None, self.spread(900),
                                            lambda cpu: self.wake(cpu, thread))])

    def wait_for(self, thread, lock):
        """Until the lock is let go of: in a futex, or in the kernel, as in a page fault that needs mmap_lock."""
        if not self.options["kernel_lock"]:
            yield from self.call(thread, "futex", "QiIQQI", lock.address, 128, 2, 0, 0, 0)
            if lock.owner:
                lock.waiters.append(thread)
                yield "block", "lock"
            self.leave(thread, "futex", 0, lock.address, 0)
            return
        self.tell(self.here(thread), "contention_begin", "QI", lock.address, 2)
        lock.waiters.append(thread)
        yield "block", "lock"
        self.tell(self.here(thread), "contention_end", "Qi", lock.address, 0)

    def acquire(self, thread, lock):
        while lock.owner:
            yield from self.wait_for(thread, lock)
        lock.owner = thread

    def release(self, thread, lock):
        lock.owner = None
        if not lock.waiters:
            return
        if self.options["kernel_lock"]:
            self.wake(self.here(thread), lock.waiters.popleft())
            return
        yield from self.call(thread, "futex", "QiIQQI", lock.address, 129, 1, 0, 0, 0)
        if lock.waiters:
            self.wake(self.here(thread), lock.waiters.popleft())
        self.leave(thread, "futex", 1, lock.address, 0)

    def receive(self, thread, channel, call="read", why="wait"):
        channel.reader = thread
        values = ("ii", 9, -1) if call == "epoll_wait" else ("IQ", 7, 64)
        yield from self.call(thread, call, *values)
        while not channel.messages:
            yield "block", why
        yield "run", self.spread(400)
        self.leave(thread, call, 1 if call == "epoll_wait" else 64)
        return channel.messages.popleft()

    def send(self, thread, channel, message):
        yield from self.call(thread, "write", "IQQ", 8, 0x7f0000001000, 64)
        channel.messages.append(message)
        if channel.reader:
            self.wake(self.here(thread), channel.reader)
        self.leave(thread, "write", 64)

    def disk(self, thread, mean):
        yield from self.call(thread, "pread64", "IQq", 5, 16384, self.random.randrange(1 << 30))
        cpu, sector = self.here(thread), self.random.randrange(1 << 30)
        self.emit(cpu, NUMBER["block_rq_issue"], struct.pack("<IQIIiI", self.options["dev"], sector, 32, 16384,
                                                           thread.tid, 0) + thread.bytes)
        slot = min(range(len(self.disk_free)), key=self.disk_free.__getitem__)
        self.disk_free[slot] = max(self.disk_free[slot], cpu.t) + self.spread(mean, 0.4)
        self.at(self.disk_free[slot], self.disk_done, cpu, sector, thread)
        yield "block", "io"
        yield "run", self.spread(1500)
        self.leave(thread, "pread64", 16384)

    def disk_done(self, cpu, sector, thread):
        def complete(on):
            self.tell(on, "block_rq_complete", "IQIiI", self.options["dev"], sector, 32, 0, 0)
            self.wake(on, thread)
        self.interrupt(cpu, [("irq", self.options["disk_irq"], self.options["disk_name"], self.spread(1800), complete)])

    def begin(self, thread, number):
        self.tell(self.here(thread), "request_begin", "Q", number)
        thread.unit, thread.unit_from = collections.Counter(), self.here(thread).t

    def end(self, thread, number):
        cpu = self.here(thread)
        self.tell(cpu, "request_end", "Q", number)
        self.lengths.append(cpu.t - thread.unit_from)
        self.sums.update(thread.unit)
        thread.unit = None
