/*
 * compare_work.c - a workload: a server that handles requests, with one cause of slowness switched
 * on
 *
 * compare_work CAUSE REQUESTS FILE
 *
 * Thread req-worker handles REQUESTS requests. A request begins with the system call
 * sched_get_priority_max and ends with sched_get_priority_min, which hardly any other program
 * calls, so they mark it in a recording. A request computes, takes a lock that thread lock-holder
 * sometimes takes, calls process helper over a socket, writes to FILE and sleeps. Process rival
 * sometimes runs on the CPU of req-worker, at a lower priority. All have real-time priorities, so
 * that other load does not disturb them. CAUSE is none or:
 *
 *     compute     req-worker computes twice as long
 *     lock        lock-holder holds the lock for long
 *     contenders  four more threads take the lock
 *     neighbour   process neighbour is as important as req-worker and runs on its CPU
 *     priority    req-worker is less important than rival
 *     helper      helper computes for long
 *     stopped     process stopper stops helper by a signal, again and again
 *     sleep       req-worker sleeps longer
 *     sync        req-worker waits until the disk has what it wrote
 *     moves       req-worker changes its CPU twenty times
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKER_CPU = 1, OTHER_CPU = 0, CACHE = 1 << 20 };
enum { LOW = 10, NORMAL = 20, ABOVE = 25, HIGH = 30 };

static const char *cause;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int asking[2];
static volatile bool over;
static unsigned char cache[CACHE];
static char bytes[4096];

static bool is(const char *name)
{
	return strcmp(cause, name) == 0;
}

static void need(bool done, const char *what)
{
	if (!done) {
		fprintf(stderr, "compare_work: %s: %s\n", what, strerror(errno));
		exit(2);
	}
}

static void pause_us(long us)
{
	struct timespec span = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &span, NULL);
}

/* Does a fixed amount of work; it reads memory, so that it is slower with cold caches. */
static void compute(int steps)
{
	volatile unsigned char *byte = cache;
	unsigned sum = 0;
	for (int i = 0; i < steps; i++)
		sum += byte[(unsigned)i * 64 % CACHE];
	byte[0] = (unsigned char)sum;
}

static void run_on(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof set, &set);
}

/* Sets the thread's name, CPU and real-time priority. */
static void be(const char *name, int cpu, int priority)
{
	struct sched_param param = {.sched_priority = priority};
	prctl(PR_SET_NAME, name);
	run_on(cpu);
	need(sched_setscheduler(0, SCHED_FIFO, &param) == 0, "real-time priority");
}

/* Takes the lock again and again, and computes while holding it. */
static void *hold(void *steps)
{
	be(*(int *)steps > 0 ? "lock-holder" : "contender", OTHER_CPU, NORMAL);
	while (!over) {
		pthread_mutex_lock(&lock);
		compute(abs(*(int *)steps));
		pthread_mutex_unlock(&lock);
		pause_us(*(int *)steps > 0 ? 1000 : 300);
	}
	return NULL;
}

/* Forks a process with a name, CPU and priority; returns 0 in the child. */
static pid_t beside(const char *name, int cpu, int priority)
{
	pid_t child = fork();
	need(child >= 0, "fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be(name, cpu, priority);
	}
	return child;
}

/* Starts helper above lock-holder's priority: waiting for its CPU would be a second cause. */
static pid_t start_helper(void)
{
	pid_t child = beside("helper", OTHER_CPU, ABOVE);
	char byte;
	while (child == 0) {
		if (recv(asking[1], &byte, 1, 0) != 1)
			_exit(0);
		compute(is("helper") ? 600000 : 30000);
		if (send(asking[1], &byte, 1, 0) != 1)
			_exit(0);
	}
	return child;
}

static pid_t start_spinning(const char *name, int priority)
{
	pid_t child = beside(name, WORKER_CPU, priority);
	while (child == 0) {
		compute(500000);
		pause_us(700);
	}
	return child;
}

static pid_t start_stopping(pid_t helper)
{
	pid_t child = beside("stopper", OTHER_CPU, HIGH);
	while (child == 0) {
		kill(helper, SIGSTOP);
		pause_us(1500);
		kill(helper, SIGCONT);
		pause_us(1000);
	}
	return child;
}

static void serve(int file)
{
	syscall(SYS_sched_get_priority_max, SCHED_FIFO);
	for (int i = 0; i < 20; i++) {
		compute(is("compute") ? 60000 : 30000);
		if (is("moves"))
			run_on(i % 2 == 0 ? OTHER_CPU : WORKER_CPU);
	}
	pthread_mutex_lock(&lock);
	compute(20000);
	pthread_mutex_unlock(&lock);
	char byte = 1;
	need(send(asking[0], &byte, 1, 0) == 1 && recv(asking[0], &byte, 1, 0) == 1,
	     "asking the helper");
	need(pwrite(file, bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes, "writing");
	need(!is("sync") || fdatasync(file) == 0, "fdatasync");
	pause_us(is("sleep") ? 700 : 100);
	compute(200000);
	syscall(SYS_sched_get_priority_min, SCHED_FIFO);
}

int main(int argc, char **argv)
{
	static int hold_steps, contend_steps = -100000;
	pthread_t thread;
	if (argc != 4)
		return 2;
	cause = argv[1];
	hold_steps = is("lock") ? 1500000 : 50000;
	int file = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0600);
	need(file >= 0, argv[3]);
	need(socketpair(AF_UNIX, SOCK_STREAM, 0, asking) == 0, "socketpair");
	memset(cache, 1, sizeof cache);
	need(pwrite(file, bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes && fsync(file) == 0,
	     argv[3]);
	be("req-worker", WORKER_CPU, is("priority") ? LOW : HIGH);
	pid_t helper = start_helper(), children[4] = {helper, start_spinning("rival", NORMAL)};
	if (is("neighbour"))
		children[2] = start_spinning("neighbour", HIGH);
	if (is("stopped"))
		children[3] = start_stopping(helper);
	need(pthread_create(&thread, NULL, hold, &hold_steps) == 0, "a thread");
	for (int i = 0; i < 4 && is("contenders"); i++)
		need(pthread_create(&thread, NULL, hold, &contend_steps) == 0, "a thread");
	pause_us(20000);
	for (int left = atoi(argv[2]); left > 0; left--) {
		serve(file);
		pause_us(200);
	}
	over = true;
	for (int i = 0; i < 4; i++)
		if (children[i] > 0)
			kill(children[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	_exit(0);
}
