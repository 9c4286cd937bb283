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

/* The kind of a command's own words; for completion. */
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
	const struct option *own; /* options that it alone has, up to one without a name; or NULL */
	size_t own_bytes;         /* of what they fill, options->own, which is zero at first */
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

/* Lines of a file as they come. Zero it but for these two; buf_release() its text. */
struct input_lines {
	int fd;
	const char *name;
	struct buf text;
	size_t at; /* behind the lines that were taken */
	bool end;  /* nothing more comes */
};
/* Reads what has come. False: *err. */
MUST_CHECK bool lines_read(struct input_lines *lines, struct error *err);
/* The next line that is whole, at the end also one without an end of line; NULL: there is none. */
char *lines_next(struct input_lines *lines);

/* The options that opened the trace hold for all commands of a prompt. */
void cmd_inherit(struct options *options, const struct options *outer);

#endif
