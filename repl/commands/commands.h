/*
 * commands.h - commands that are run for moments of a trace, one after the other
 *
 *     --do 'notify-send {name} {ts}'     a program and its words; placeholders are filled in
 *     --do-shell 'echo "$YORE_NAME"'     a shell; values are in its environment
 *
 * A thread of its own starts them and waits for each. Names of a trace are not trusted: they are
 * never part of what a shell reads. What a command writes goes to standard error, since standard
 * output has the rows.
 */
#ifndef REPL_COMMANDS_COMMANDS_H
#define REPL_COMMANDS_COMMANDS_H

#include "repl/session.h"

struct commands;

/* What a moment has, as placeholders ({ts}) and in the environment (YORE_TS). */
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
	COMMAND_BEGIN, /* [begin, end): what of the trace is known */
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

struct command_moment { /* borrowed texts; those that are not known are NULL, and filled in empty */
	nstime t;       /* of the event, or of the interval's begin; NSTIME_MIN: not known */
	int64_t cpu;    /* -1: not known */
	const char *name, *stream;             /* of an event */
	const char *path, *value, *tid, *comm; /* of an interval */
	uint64_t dur;
};

/* By --do or --do-shell, whose moments have these values. False, ERR_QUERY: what is wrong with it.
 */
MUST_CHECK bool commands_open(struct session *session, const struct options *options,
			      enum command_of values, struct commands **out, struct error *err);
/*
 * Runs the command for the moment, behind those that wait. Where too many do, `waits`: until there
 * is room, or Ctrl-C; else the moment is counted and left out.
 */
void commands_add(struct commands *commands, const struct command_moment *moment, bool waits);
/*
 * Waits for all of them; after Ctrl-C the one that runs is ended, and the others are left out.
 * Notes say what failed and what was left out. NULL is fine. `ok`: what was done before it went
 * well; returns that, or false with ERR_INTERRUPTED where it did, and Ctrl-C came while commands
 * were waited for.
 */
MUST_CHECK bool commands_close(struct commands *commands, bool ok, struct error *err);

#endif
