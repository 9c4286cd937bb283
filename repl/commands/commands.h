/*
 * commands.h - runs a command of the user for moments of a trace, one after the other
 *
 *     --do 'notify-send {name} {ts}'     a program and its words; placeholders are filled in
 *     --do-shell 'echo "$YORE_NAME"'     a shell; values are in its environment
 *
 * A thread of its own starts each command and waits for it. Names of a trace are not trusted: they
 * are never part of a text that a shell parses. The commands' output goes to standard error, since
 * standard output has the rows.
 */
#ifndef REPL_COMMANDS_COMMANDS_H
#define REPL_COMMANDS_COMMANDS_H

#include "repl/session.h"

struct commands;

/* The values of a moment: placeholders ({ts}) and environment variables (YORE_TS). */
enum command_value {
	COMMAND_TS,
	COMMAND_PATH,
	COMMAND_VALUE,
	COMMAND_DUR,
	COMMAND_TID,
	COMMAND_COMM,
	COMMAND_NAME,
	COMMAND_CPU,
	COMMAND_STREAM,
	COMMAND_BEGIN, /* [begin, end): range of the trace's events */
	COMMAND_END,
	COMMAND_TRACE,
	COMMAND_VALUES
};
enum command_of { /* a bit per value */
		  COMMAND_OF_ANY = 1 << COMMAND_TS | 1 << COMMAND_CPU | 1 << COMMAND_BEGIN |
				   1 << COMMAND_END | 1 << COMMAND_TRACE,
		  COMMAND_OF_EVENT = COMMAND_OF_ANY | 1 << COMMAND_NAME | 1 << COMMAND_STREAM,
		  COMMAND_OF_INTERVAL = COMMAND_OF_ANY | 1 << COMMAND_PATH | 1 << COMMAND_VALUE |
					1 << COMMAND_DUR | 1 << COMMAND_TID | 1 << COMMAND_COMM
};

struct command_moment { /* texts are borrowed; NULL: not known, filled in as "" */
	nstime t;       /* time of the event, or begin of the interval; NSTIME_MIN: not known */
	int64_t cpu;    /* -1: not known */
	const char *name, *stream;             /* of an event */
	const char *path, *value, *tid, *comm; /* of an interval */
	uint64_t dur;
};

/* Starts the thread for --do or --do-shell; moments have these values. False: *err. */
MUST_CHECK bool commands_open(struct session *session, const struct options *options,
			      enum command_of values, struct commands **out, struct error *err);
/*
 * Queues the moment. If the queue is full, waits for room or Ctrl-C if `waits`; else leaves the
 * moment out, and counts it.
 */
void commands_add(struct commands *commands, const struct command_moment *moment, bool waits);
/*
 * Waits for all queued commands; after Ctrl-C, ends the one that runs, and leaves out the others.
 * Notes what failed and was left out. Frees; NULL is fine. Returns `ok`, the success of the work
 * before; but false, ERR_INTERRUPTED if that is true and Ctrl-C came.
 */
MUST_CHECK bool commands_close(struct commands *commands, bool ok, struct error *err);

#endif
