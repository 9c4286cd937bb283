#!/usr/bin/python3
"""Makes pairs of kernel traces of a simulated server, of which side B has one cause of slower requests, or none.

    compare_pairs.py FOLDER --cause CAUSE [--seed N] [--size clear|modest|small] [--requests N]

FOLDER/a and FOLDER/b are CTF traces, FOLDER/truth.json says what was planted and, summed up by the machine
itself, for how long the requests of each side ran, waited for a CPU, were interrupted and so on. The machine is
that of sim_kernel.py and knows nothing of how traces are compared. Sides differ by their random numbers, by
thread numbers, some by the number of CPUs and of requests.

A worker takes a request from the network, reads it, computes, takes a lock, reads from disk, asks a helper,
backs off, answers: each with a probability and a length that the pair draws and both sides share. Beside them
run a thread that takes the same lock now and then, kernel threads, a logger, interrupts of network and timers.
In some pairs a few requests are much longer than the others, reads from disk are more frequent for a while and
then less, or another program works for some milliseconds now and then: on both sides alike, so that these are
no causes.
"""
import argparse
import json
import os
import random
import shutil
import sys

import sim_kernel

CAUSES = ("lock", "frequency", "ready", "interrupt", "migration", "io", "running", "wait", "sleep")
SIZES = ("clear", "modest", "small")
GIGAHERTZ = 1_000_000  # kHz
PHASE = 3_000_000  # ns: a recording has twenty or more; of what varies more slowly than it lasts nobody could tell


def shape(rng, cause):
    """What both sides of a pair share."""
    workers = rng.randint(2, 4)
    return {
        "cpus": rng.randint(workers + 2, workers + 4), "workers": workers,
        "has_context": rng.random() < 0.5, "khz": [3 * GIGAHERTZ], "jitter": rng.random() < 0.5,
        "tells_frequency": cause == "frequency" or rng.random() < 0.5,
        "cold": rng.randint(15_000, 30_000) * (2 if cause == "migration" else 1), "sticky": 0.95,
        "granularity": rng.choice((200_000, 5_000_000)),
        "dev": rng.choice((8 << 20, 259 << 20, 253 << 20 | 1)), "disk_irq": rng.randint(30, 60),
        "disk_name": rng.choice(("nvme0q1", "ahci[0000:00:1f.2]", "virtio1-req.0")),
        "net_irq": rng.randint(61, 90), "net_name": rng.choice(("eth0-rx-0", "ens3-TxRx-1", "virtio0-input.0")),
        "worker": rng.choice(("worker", "httpd", "postgres", "java-exec")), "names_differ": rng.random() < 0.5,
        "holder": rng.choice(("gc", "flusher", "stats-writer", "compactor")),
        "helper": rng.choice(("resolver", "authd", "cache-server")), "helpers": rng.random() < 0.6 or cause == "wait",
        "neighbour": rng.choice(("backup", "updatedb", "chrome", "cc1plus")),
        "compute": rng.randint(150_000, 400_000), "section": rng.randint(4_000, 12_000),
        "hold": rng.randint(20_000, 60_000), "hold_every": rng.randint(1_200_000, 2_000_000),
        "disk": rng.randint(80_000, 160_000), "reads": rng.uniform(0.2, 0.5) if cause != "io" else 0.6,
        "ask": rng.uniform(0.3, 0.8), "help": rng.randint(30_000, 80_000),
        "backoff": rng.randint(60_000, 150_000), "backs_off": rng.uniform(0.05, 0.3) if cause != "sleep" else 0.5,
        "think": rng.randint(200_000, 500_000),
        "irq": 2_000, "irq_every": 900_000, "softirq": 9_000,
        "burst": 0, "burst_every": 2_000_000, "bursts": 0, "weight": 1.0,
        "heavy": rng.choice((0, 0, 0.04)), "phases": rng.random() < 0.3, "episodes": rng.random() < 0.3,
        "kernel_lock": rng.random() < 0.3, "bounce": 0,
        "pinned": cause == "ready" or (cause == "interrupt" and rng.random() < 0.5),
    }


def plant(rng, cause, size, own):
    """Changes the shape of side B; returns (kind, what `who` must have in it or null)."""
    def by_size(*choices):
        return choices[SIZES.index(size)]
    if cause == "lock":
        own["hold"] = int(own["hold"] + own["compute"] * by_size(1.6, 0.9, 0.45))
        return "lock", own["holder"]
    if cause == "frequency":
        khz = int(3 * GIGAHERTZ * rng.uniform(*by_size((0.55, 0.7), (0.75, 0.85), (0.91, 0.95))))
        own["khz"], own["jitter"] = [khz], False
        return "frequency", str(khz)
    if cause == "ready":
        own["burst"], own["weight"] = rng.randint(250_000, 600_000), by_size(4.0, 2.0, 2.0)
        own["burst_every"], own["bursts"] = int(own["burst"] * by_size(2, 4, 10)), own["workers"]
        return "ready", own["neighbour"]
    if cause == "interrupt" and rng.random() < 0.5:
        own["irq"], own["irq_every"] = rng.randint(25_000, 40_000), by_size(130_000, 260_000, 600_000)
        return "interrupt", "irq %d" % own["net_irq"]
    if cause == "interrupt":
        own["softirq"], own["irq_every"] = rng.randint(30_000, 50_000), by_size(150_000, 300_000, 700_000)
        return "interrupt", "softirq net_rx"
    if cause == "migration":
        own["bounce"] = by_size(120_000, 200_000, 400_000)
        return "migration", None
    if cause == "io":
        own["disk"] = int(own["disk"] * by_size(3, 2.2, 1.5))
        return "io", "%d:%d" % (own["dev"] >> 20, own["dev"] & 0xfffff)
    if cause == "running":
        own["compute"] = int(own["compute"] * by_size(1.5, 1.25, 1.1))
        return "running", None
    if cause == "wait":
        own["help"] = int(own["help"] + own["compute"] * by_size(1.2, 0.6, 0.25))
        return "wait", own["helper"]
    if cause == "sleep":
        own["backoff"] = int(own["backoff"] * by_size(4, 2.5, 1.6))
        return "sleep", None
    return None, None


class Server:
    """The threads and devices of one side."""
    def __init__(self, seed, own, requests):
        self.own, self.machine = own, sim_kernel.Machine(seed, own["cpus"], own)
        self.left, self.served, self.requests = requests, 0, requests
        m = self.machine
        self.lock = sim_kernel.Lock(0x7f3200001040)
        order = list(range(own["cpus"]))
        self.seats = [[cpu] for cpu in order[1:own["workers"] + 1]]
        self.helper, self.asked = m.thread(own["helper"]), sim_kernel.Channel()
        makers = [(self.helper, self.help)] + [(m.thread(own["worker"] + ("-%d" % i if own["names_differ"] else ""),
                   self.seats[i] if own["pinned"] else None), self.work) for i in range(own["workers"])]
        makers += [(m.thread(own["holder"]), self.hold), (m.thread("journald"), self.journal),
                   (m.thread("rcu_preempt"), self.kernel_thread)]
        makers += [(m.thread("kworker/%d:1" % cpu, [cpu]), self.kernel_thread) for cpu in order]
        for i in range(own["bursts"]):
            makers.append((m.thread(own["neighbour"], self.seats[i], own["weight"]), self.neighbour))
        self.workers = [thread for thread, body in makers if body == self.work]
        m.random.shuffle(makers)
        for thread, body in makers:
            m.start(thread, body(thread))
        if own["episodes"]:
            batch = m.thread("logrotate")
            m.start(batch, self.episode(batch))
        self.phase = 1.0
        self.schedule_devices()

    def schedule_devices(self):
        m, own = self.machine, self.own
        for cpu in m.cpus:
            m.after(m.often(own["irq_every"]), self.traffic, cpu)
            if own["jitter"] and own["tells_frequency"]:
                m.after(m.often(15_000_000), self.govern, cpu)
        if own["phases"]:
            self.change_phase()
        if own["bounce"]:
            for thread in self.workers:
                m.after(m.often(own["bounce"]), self.bounce, thread)

    def change_phase(self):
        self.phase = 0.5 if self.phase > 1 else 1.5
        self.machine.after(self.machine.spread(PHASE, 0.5), self.change_phase)

    def govern(self, cpu):
        m = self.machine
        m.set_frequency(cpu, m.random.choice((3_000_000, 2_900_000)))
        m.after(m.often(15_000_000), self.govern, cpu)

    def bounce(self, thread):
        self.machine.push_away(thread)
        self.machine.after(self.machine.spread(self.own["bounce"], 0.5), self.bounce, thread)

    def packet(self, cpu, action):
        """An interrupt of the network card, and the softirq that it raises."""
        m, own = self.machine, self.own
        m.interrupt(cpu, [
            ("irq", own["net_irq"], own["net_name"], m.spread(own["irq"]),
             lambda on: m.tell(on, "irq_softirq_raise", "I", 3)),
            ("softirq", 3, None, m.spread(own["softirq"], 0.5), action)])

    def traffic(self, cpu):
        self.packet(cpu, None)
        self.machine.after(self.machine.often(self.own["irq_every"]), self.traffic, cpu)

    # Threads

    def arrive(self, thread, channel):
        def deliver(cpu):
            channel.messages.append(1)
            self.machine.wake(cpu, thread)
        self.packet(self.machine.cpus[0], deliver)

    def work(self, thread):
        m, own = self.machine, self.own
        network, answers = sim_kernel.Channel(), sim_kernel.Channel()
        while True:
            m.at(m.here(thread).t + m.often(own["think"]), self.arrive, thread, network)
            yield from m.receive(thread, network, "epoll_wait", "idle")
            number = self.requests - self.left
            self.left -= 1
            m.begin(thread, number)
            yield from self.serve(thread, answers)
            m.end(thread, number)
            self.served += 1
            m.over = self.served >= self.requests

    def serve(self, thread, answers):
        m, own = self.machine, self.own
        yield from m.call(thread, "read", "IQ", 9, 4096)
        yield from m.run(2500)
        m.leave(thread, "read", m.random.randrange(100, 2000))
        scale = 6 if m.random.random() < own["heavy"] else 1
        yield from m.run(own["compute"] * 0.6 * scale)
        yield from self.critical(thread)
        if m.random.random() < own["reads"] * self.phase:
            yield from m.disk(thread, own["disk"])
        if own["helpers"] and m.random.random() < own["ask"]:
            yield from m.send(thread, self.asked, answers)
            yield from m.receive(thread, answers)
        yield from m.run(own["compute"] * 0.4)
        if m.random.random() < own["backs_off"]:
            yield from m.sleep(thread, m.spread(own["backoff"], 0.2))
        yield from self.critical(thread)
        yield from m.call(thread, "sendto", "iQI", 9, 512, 0)
        yield from m.run(5000)
        m.leave(thread, "sendto", 512)

    def critical(self, thread):
        yield from self.machine.acquire(thread, self.lock)
        yield from self.machine.run(self.own["section"])
        yield from self.machine.release(thread, self.lock)

    def help(self, thread):
        while True:
            answers = yield from self.machine.receive(thread, self.asked)
            yield from self.machine.run(self.own["help"], 0.4)
            yield from self.machine.send(thread, answers, 1)

    def hold(self, thread):
        m, own = self.machine, self.own
        while True:
            yield from m.sleep(thread, m.often(own["hold_every"]))
            yield from m.acquire(thread, self.lock)
            yield from m.run(own["hold"])
            yield from m.release(thread, self.lock)

    def journal(self, thread):
        m = self.machine
        while True:
            yield from m.sleep(thread, m.often(6_000_000))
            yield from m.run(300_000, 0.8)
            yield from m.disk(thread, self.own["disk"])

    def episode(self, thread):
        """Works for some milliseconds, then rests for longer."""
        m = self.machine
        while True:
            yield from m.sleep(thread, m.often(20_000_000))
            for _ in range(m.random.randrange(5, 30)):
                yield from m.run(250_000)
                yield from m.sleep(thread, m.often(50_000))

    def kernel_thread(self, thread):
        m = self.machine
        while True:
            yield from m.run(25_000, 0.8)
            timer = 0xffff888100000000 + (thread.tid << 8)
            m.after(m.often(4_000_000), m.expire, thread.cpu, timer, thread)
            yield "block", "sleep"

    def neighbour(self, thread):
        m, own = self.machine, self.own
        while True:
            yield from m.run(own["burst"], 0.4)
            yield from m.sleep(thread, m.often(max(1, own["burst_every"] - own["burst"])))


def side(seed, own, requests, folder):
    server = Server(seed, own, requests)
    server.machine.work()
    server.machine.write(folder)
    m = server.machine
    return {"requests": len(m.lengths), "mean": sum(m.lengths) / len(m.lengths),
            "events": sum(len(cpu.records) for cpu in m.cpus),
            "per_request": {kind: m.sums[kind] / len(m.lengths) for kind in CAUSES}}


def make(folder, cause, seed, size="clear", requests=400):
    """The truth, as it stands in truth.json."""
    rng = random.Random("%s %d" % (cause, seed))
    a = shape(rng, cause)
    a["first_tid"] = rng.randrange(300, 3000)
    b = dict(a, first_tid=rng.randrange(3000, 30000))
    if rng.random() < 0.4:
        b["cpus"] += rng.choice((-1, 1))
    if not a["pinned"] and rng.random() < 0.5:
        a["bursts"] = b["bursts"] = 0
    kind, who = plant(rng, cause, size, b)
    if cause == "ready":
        a.update(burst=b["burst"] // 4, burst_every=b["burst_every"] * 2, bursts=1, weight=b["weight"])
    truth = {"cause": kind, "who": who, "size": size, "seed": seed, "cpus": [a["cpus"], b["cpus"]],
             "worker": a["worker"]}
    for name, own in (("a", a), ("b", b)):
        served = rng.randint(requests * 9 // 10, requests) if rng.random() < 0.8 else requests // 2
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
        truth[name] = side(rng.randrange(1 << 40), own, served, os.path.join(folder, name))
    grown = {one: truth["b"]["per_request"][one] - truth["a"]["per_request"][one] for one in CAUSES}
    truth["grown"] = {one: round(span) for one, span in sorted(grown.items(), key=lambda item: -abs(item[1]))}
    with open(os.path.join(folder, "truth.json"), "w") as file:
        json.dump(truth, file, indent=1)
    return truth


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--cause", choices=CAUSES + ("none",), default="none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", choices=SIZES, default="clear")
    parser.add_argument("--requests", type=int, default=400)
    options = parser.parse_args()
    truth = make(options.folder, options.cause, options.seed, options.size, options.requests)
    json.dump(truth, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
