"""A relay, a session daemon and a traced program of LTTng, in a folder of their own, on loopback, without privileges.

As root all of them run as `nobody`: a session daemon of root's would be the system's. Rig() raises Missing where something is not
installed or does not start.
"""
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PROGRAM = r"""
#include <lttng/tracef.h>
#include <lttng/tracelog.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int count, pause_us;
static void *work(void *arg)
{
	for (int i = 0; i < count; i++) {
		lttng_ust_tracef("step %d of %ld", i, (long)arg);
		if (i % 3 == 0)
			lttng_ust_tracelog(LTTNG_UST_TRACEPOINT_LOGLEVEL_INFO, "third %d, and a text that fills packets: %0100d", i, i);
		if (i % 100 == 50)
			lttng_ust_tracelog(LTTNG_UST_TRACEPOINT_LOGLEVEL_WARNING, "fifty %d", i);
		if (pause_us)
			usleep((unsigned)pause_us);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t threads[8];
	long n = argc > 2 ? atol(argv[2]) : 1;
	count = argc > 1 ? atoi(argv[1]) : 100;
	pause_us = argc > 3 ? atoi(argv[3]) : 0;
	for (long i = 0; i < n && i < 8; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (long i = 0; i < n && i < 8; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""
NEEDED = ("lttng", "lttng-relayd", "lttng-sessiond", "gcc")


class Missing(Exception):
    pass


def free_ports(count):
    """Ports that nobody has now."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Rig:
    def __init__(self):
        for tool in NEEDED:
            if not shutil.which(tool):
                raise Missing("%s is not installed" % tool)
        self.daemons = []
        self.home = tempfile.mkdtemp(prefix="yore-rig-")
        self.user = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.home, nobody.pw_uid, nobody.pw_gid)
            self.user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        os.chmod(self.home, 0o755)
        self.environment = dict(os.environ, HOME=self.home, LTTNG_HOME=self.home, LTTNG_UST_REGISTER_TIMEOUT="5000", LC_ALL="C")
        try:
            self.build()
            self.start()
        except BaseException:
            self.close()
            raise

    def build(self):
        source = os.path.join(self.home, "traced.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        self.program = os.path.join(self.home, "traced")
        done = subprocess.run(["gcc", "-O1", "-w", "-o", self.program, source, "-llttng-ust", "-lpthread", "-ldl"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise Missing("liblttng-ust-dev is not installed, or too old")

    def start(self):
        self.start_relay()
        daemon = self.daemon("lttng-sessiond", "--no-kernel")
        for _ in range(600):
            if self.run("lttng", "--no-sessiond", "list")[0] == 0:
                return
            if daemon.poll():
                break
            time.sleep(0.1)
        raise Missing("lttng-sessiond does not start here")

    def start_relay(self):
        self.ports = free_ports(3)
        control, data, live = self.ports
        self.output = os.path.join(self.home, "out")
        self.relay = self.daemon("lttng-relayd", "-C", "tcp://127.0.0.1:%d" % control, "-D", "tcp://127.0.0.1:%d" % data,
                                 "-L", "tcp://127.0.0.1:%d" % live, "-o", self.output)
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", live), 1).close()
                return
            except OSError:
                if self.relay.poll() is not None:
                    break
                time.sleep(0.1)
        raise Missing("lttng-relayd does not start here")

    def daemon(self, *words):
        with open(os.path.join(self.home, words[0] + ".log"), "ab") as log:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.home,
                                       env=self.environment, **self.user)
        self.daemons.append(process)
        return process

    def run(self, *words):
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.home,
                              env=self.environment, check=False, **self.user)
        return done.returncode, done.stdout.decode(errors="replace")

    def lttng(self, *words):
        status, said = self.run("lttng", "--no-sessiond", *words)
        if status:
            raise Missing("lttng %s fails here: %s" % (" ".join(words), said.strip()[-200:]))

    def create(self, session, *channel, timer=100000):
        self.lttng("create", session, "--live=%d" % timer, "-U", "net://127.0.0.1:%d:%d" % tuple(self.ports[:2]))
        self.lttng("enable-channel", "-s", session, "-u", *channel, "ch0")
        self.lttng("enable-event", "-s", session, "-u", "-c", "ch0", "lttng_ust_tracef:*,lttng_ust_tracelog:*")
        self.lttng("add-context", "-s", session, "-u", "-c", "ch0", "-t", "vtid")
        self.lttng("start", session)

    def trace(self, count, threads=1, pause_us=0, wait=True):
        process = subprocess.Popen([self.program, str(count), str(threads), str(pause_us)], cwd=self.home, env=self.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.user)
        if wait:
            process.wait()
        return process

    def relay_place(self):
        return "net://127.0.0.1:%d" % self.ports[2]

    def url(self, session):
        return "%s/host/%s/%s" % (self.relay_place(), socket.gethostname(), session)

    def finished(self, session):
        """The folder that the relay wrote."""
        top = os.path.join(self.output, socket.gethostname())
        names = [name for name in os.listdir(top) if name.startswith(session + "-")]
        return os.path.join(top, names[0])

    def close(self):
        for process in self.daemons[::-1]:
            process.send_signal(signal.SIGTERM)
        for process in self.daemons:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def say(text):
    print(text)
    sys.stdout.flush()
