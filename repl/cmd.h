/*
 * cmd.h - one table entry per command: command line, prompt, help and completion all read it
 *
 * A command is one file cmd_NAME.c with one entry. `run` gets the session, the parsed arguments and
 * a sink; it prints nothing itself and returns errors as values, so that the prompt and tests call
 * it as the command line does.
 */
#ifndef REPL_CMD_H
#define REPL_CMD_H

#include "engine/base/error.h"
#include "repl/options.h"
#include "repl/session.h"
#include "repl/sink.h"

/* What the words of a command (beside TRACE and options) stand for; used by completion. */
enum cmd_word {
	WORD_NONE = 0,
	WORD_TIME = 1 << 0,
	WORD_PATH = 1 << 1,       /* attribute path */
	WORD_PATH_VALUE = 1 << 2, /* PATH=VALUE */
	WORD_COMMAND = 1 << 3,
	WORD_RULES = 1 << 4, /* name of a rule set that comes with yore */
	WORD_FILE = 1 << 5,
	WORD_PROGRAM = 1 << 6 /* of `do` */
};

struct cmd {
	const char *name;
	const char *args;         /* after TRACE, as help shows it: "TIME... [PATH...]" */
	const char *summary;      /* one line, no full stop */
	const char *help;         /* more text, and examples: lines that begin with "  $ yore " */
	unsigned options;         /* groups of enum option_group that it takes */
	const struct option *own; /* its own options; the last has no name; NULL: it has none */
	size_t own_bytes;         /* size of the struct that they fill, options->own; zeroed */
	unsigned words;           /* enum cmd_word */
	int min_words, max_words; /* own words, without TRACE; -1: any number */
	bool no_trace;            /* it takes no TRACE */
	bool (*run)(struct session *session, const struct options *options, struct sink *sink,
		    struct error *err);
	/* Prints the output of `yore explain` for it; NULL: there is nothing to explain. */
	bool (*explain)(struct session *session, const struct options *options, struct sink *sink,
			struct error *err);
};

extern const struct cmd *const commands[]; /* ended by NULL, in the order of help */

const struct cmd *cmd_named(const char *name); /* by its whole name; NULL: there is none */
/* By name or by the only beginning of one; NULL and ERR_QUERY ("ambiguous: ...") otherwise. */
MUST_CHECK const struct cmd *cmd_find(const char *name, struct error *err);

/*
 * Runs one command of a session whose trace is open, as the prompt does: words[0] is its name and
 * TRACE is left out. Times that are not given come from the session's moment and range. Flushes the
 * sink. False: *err says why (ERR_INTERRUPTED: Ctrl-C ended it).
 */
MUST_CHECK bool cmd_run_words(struct session *session, int nwords, char **words, struct sink *sink,
			      struct error *err);

/* Reads lines as a file delivers them. Set fd and name, zero the rest; buf_release() its text. */
struct input_lines {
	int fd;
	const char *name;
	struct buf text;
	size_t at; /* in `text`: end of the lines that lines_next() gave */
	bool end;  /* the file has ended */
};
/* Reads once, and waits for bytes if there are none. False: *err. */
MUST_CHECK bool lines_read(struct input_lines *lines, struct error *err);
/* The next whole line (the last may lack its newline), valid until lines_read(); NULL: none yet. */
char *lines_next(struct input_lines *lines);

/* Copies the options of the command line that hold for all commands of a prompt. */
void cmd_inherit(struct options *options, const struct options *outer);

#endif
