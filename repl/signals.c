/*
 * signals.c - Ctrl-C raises a flag; a fault in a mapped file becomes damage of that file
 *
 * A second Ctrl-C while the first one waits to be seen ends the program at once, for code that
 * never looks. SIGPIPE is ignored: writes then say EPIPE, which is no error.
 */
#include "engine/base/source.h"
#include "repl/session.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
	(void)signal_number;
	if (interrupted++ >= 2)
		_exit(130);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
	(void)context;
	if (source_absorb_fault(info->si_addr))
		return;
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

void signals_install(void)
{
	struct sigaction interrupt = {.sa_handler = on_interrupt};
	struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigemptyset(&interrupt.sa_mask);
	sigemptyset(&fault.sa_mask);
	sigemptyset(&ignore.sa_mask);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGBUS, &fault, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

bool signals_interrupted(void)
{
	return interrupted != 0;
}

const volatile sig_atomic_t *signals_flag(void)
{
	return &interrupted;
}

void signals_clear(void)
{
	interrupted = 0;
}
