/*
 * signals.c - Ctrl-C sets a flag; a fault in a mapped file becomes damage of that file
 *
 * A second Ctrl-C while the flag is set ends the program at once, for code that never tests it (a
 * Lua pattern). A signal within MANY_MS of the first is a duplicate: timeout(1) signals the process
 * and its group. SIGTERM and SIGHUP end the program at once, after temporary files are removed; the
 * index is valid at any instant. SIGPIPE and SIGXFSZ are ignored: write() then fails with EPIPE,
 * which is no error, or EFBIG, which is one as ENOSPC is.
 *
 * A question that exceeds its memory sets the same flag. A failed allocation ends the program.
 */
#include "engine/base/budget.h"
#include "engine/base/large.h"
#include "engine/base/mem.h"
#include "engine/base/source.h"
#include "engine/base/temporary.h"
#include "engine/base/wait.h"
#include "follow/watch.h"
#include "repl/session.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { MANY_MS = 50 };

/* Upper limit of anonymous memory per question; beyond it, large blocks go to files. */
#define IN_MEMORY ((size_t)96 << 20)

static volatile sig_atomic_t interrupted;
static atomic_bool by_memory; /* memory, no signal, is why `interrupted` is set */
static pthread_t main_thread;
static _Atomic int64_t first_ms; /* when the Ctrl-C came that set `interrupted` */
static void (*volatile told)(void *arg);
static void *volatile told_arg;
static struct termios terminal;
static atomic_bool has_terminal;

/* Undoes what a line editor set: terminal modes, and bracketed paste. */
static void restore_terminal(void)
{
	static const char plain_paste[] = "\033[?2004l\r";

	if (!atomic_load(&has_terminal))
		return;
	tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
	(void)!write(STDOUT_FILENO, plain_paste, sizeof plain_paste - 1);
}

static void on_interrupt(int signal_number)
{
	int64_t now = clock_ms();
	int cause = errno; /* of what it interrupts */

	(void)signal_number;
	if (!interrupted) {
		atomic_store(&first_ms, now);
		interrupted = 1;
		if (told)
			told(told_arg);
	} else if (now - atomic_load(&first_ms) >= MANY_MS) {
		temporary_remove_all();
		restore_terminal();
		_exit(130);
	}
	errno = cause;
}

/* Cleans up, then lets the signal's default action end the process, so that the parent sees it. */
static void on_end(int signal_number)
{
	struct sigaction alone = {.sa_handler = SIG_DFL};
	sigset_t own;

	temporary_remove_all();
	restore_terminal();
	sigaction(signal_number, &alone, NULL);
	sigemptyset(&own);
	sigaddset(&own, signal_number);
	raise(signal_number);
	pthread_sigmask(SIG_UNBLOCK, &own, NULL);
}

/* Ends the program, in the thread that failed to allocate; the first of several reports. */
static void on_no_memory(size_t bytes)
{
	static atomic_flag telling = ATOMIC_FLAG_INIT;
	char text[128];

	if (atomic_flag_test_and_set(&telling))
		for (;;)
			pause();
	temporary_remove_all();
	restore_terminal();
	snprintf(text, sizeof text, "yore: out of memory: no %zu bytes more are to be had\n",
		 bytes);
	(void)!write(STDERR_FILENO, text, strlen(text));
	_exit(1);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
	(void)context;
	if (source_absorb_fault(info->si_addr))
		return;
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* Installs on_end(), unless the signal is ignored, as by nohup(1). */
static void install_end(int signal_number)
{
	struct sigaction end = {.sa_handler = on_end}, before;

	sigfillset(&end.sa_mask);
	if (sigaction(signal_number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
		sigaction(signal_number, &end, NULL);
}

void signals_install(void)
{
	struct sigaction interrupt = {.sa_handler = on_interrupt};
	struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	main_thread = pthread_self();
	mem_on_failure(on_no_memory);
	mem_fit_address_space();
	sigemptyset(&interrupt.sa_mask);
	sigemptyset(&fault.sa_mask);
	sigemptyset(&ignore.sa_mask);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGBUS, &fault, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
	install_end(SIGTERM);
	install_end(SIGHUP);
}

void signals_keep_terminal(void)
{
	if (!atomic_load(&has_terminal) && tcgetattr(STDIN_FILENO, &terminal) == 0)
		atomic_store(&has_terminal, true);
}

bool signals_interrupted(void)
{
	if (!interrupted && budget_is_over()) {
		atomic_store(&by_memory, true);
		interrupted = 1;
		if (told && pthread_equal(pthread_self(), main_thread))
			told(told_arg);
	}
	return interrupted != 0;
}

void signals_begin(uint64_t memory)
{
	budget_begin(memory < SIZE_MAX ? (size_t)memory : SIZE_MAX);
	signals_at_once(1);
}

void signals_at_once(unsigned questions)
{
	size_t most = budget_most(), wanted = questions * IN_MEMORY;

	large_limit(most / 2 < wanted ? most / 2 + 1 : wanted);
}

void signals_explain(struct error *err)
{
	if (err->kind == ERR_INTERRUPTED && atomic_load(&by_memory))
		error_set(err, ERR_IO, "out of memory: %s", budget_text());
}

const volatile sig_atomic_t *signals_flag(void)
{
	return &interrupted;
}

/* Threads that yore starts block all signals, so the handler runs in the main thread only. */
struct signals_told signals_tell(struct signals_told now)
{
	struct signals_told before = {told, told_arg};

	told = NULL;
	told_arg = now.arg;
	told = now.tell;
	return before;
}

bool signals_stopped(void *unused)
{
	(void)unused;
	return signals_interrupted();
}

bool signals_go_on(void *unused)
{
	return !signals_stopped(unused);
}

static void tell_wake(void *arg, void (*wake)(void *wake_arg), void *wake_arg)
{
	static struct signals_told before; /* waits do not nest */

	(void)arg;
	if (wake)
		before = signals_tell((struct signals_told){wake, wake_arg});
	else
		signals_tell(before);
}

const struct watch_stop signals_stop = {.stopped = signals_stopped, .tell = tell_wake};

void signals_clear(void)
{
	interrupted = 0;
	atomic_store(&by_memory, false);
}
