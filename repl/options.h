/*
 * options.h - parses the command line: options shared by commands (in groups), and a table of
 * further options per command
 *
 * Options stand anywhere. A word that begins with '-' and a digit is a time, not an option; "--"
 * ends options. Values follow as the next word or after '='. Lists (--name, --cpu ...) are given
 * by repeating the option, by commas, or, for commands that take no words of their own, as several
 * words. All pointers are into argv or constant.
 */
#ifndef REPL_OPTIONS_H
#define REPL_OPTIONS_H

#include "engine/base/error.h"
#include "repl/times.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmd;

/* Parses a span such as 30s or 500ms, without a sign, to ns. */
bool option_span(const char *value, nstime *out);

/*
 * Groups of options that several commands share; struct cmd says which it takes. Options of only
 * one command are in struct cmd, too.
 */
enum option_group {
	OPT_COMMON = 1 << 0, /* any command: --help --stats --color --strict ... */
	OPT_TRACE =
		1 << 1, /* opening: --with --offset --input --key-file --index-dir --no-index --jobs
			 --program */
	OPT_RANGE = 1 << 2,     /* --begin --end */
	OPT_FILTER = 1 << 3,    /* --name --cpu --tid --pid --comm --stream --where */
	OPT_FORMAT = 1 << 4,    /* --format --time --utc */
	OPT_RULES = 1 << 5,     /* --rules */
	OPT_LIMIT = 1 << 6,     /* --limit */
	OPT_EVENTS = 1 << 7,    /* --all --reverse --count --around --context */
	OPT_BEFORE = 1 << 8,    /* --before */
	OPT_LIST = 1 << 9,      /* --list --sandbox */
	OPT_STREAM = 1 << 10,   /* --stream */
	OPT_SYMBOLS = 1 << 11,  /* --symbols --no-symbols --lines */
	OPT_WHY = 1 << 12,      /* --why --names */
	OPT_SQL = 1 << 13,      /* --format line */
	OPT_DO = 1 << 14,       /* --probes --file */
	OPT_THREADS = 1 << 15,  /* --cpu --tid --pid --comm for rows of the state */
	OPT_LISTS = 1 << 16,    /* --all --budget, for lists of attributes over a range */
	OPT_ATTACH = 1 << 17,   /* --retry */
	OPT_FOLLOW = 1 << 18,   /* --follow --patience */
	OPT_ANALYSIS = 1 << 19, /* --sort; analyses read it themselves */
	OPT_TRIGGERS = 1 << 20, /* --until --on --do --do-shell */
	OPT_PARTIALS = 1 << 21, /* --chunk --partial --merge */
	OPT_SLURM = 1 << 22     /* --slurm */
};

enum format { FORMAT_TEXT, FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_LINE };
enum when { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER };

struct words {
	const char **items;
	size_t count, capacity;
};

struct options {
	const struct cmd *cmd; /* NULL: none was named (the prompt, or --version) */
	const char *trace;     /* TRACE; NULL when the command takes none */
	struct words words;    /* the command's own words, in order */
	bool explain_only;     /* `explain COMMAND...`: cmd is that command */

	bool help, version, stats, strict, progress, quiet;
	unsigned debug; /* bits of enum debug_topic */
	enum when color;
	struct words with, offsets, rules;
	const char *input, *index_dir, *key_file;
	bool no_index;
	unsigned jobs;
	uint64_t memory_most; /* bytes a question may use; 0: what the machine has left */

	const char *begin, *end; /* as written; NULL none */
	struct words names, cpus, tids, pids, comms, streams, wheres;
	enum format format;
	bool format_set;
	enum time_style time;
	bool time_set, utc;
	bool has_limit;
	uint64_t limit;
	uint64_t budget; /* packets of each stream to read around a range; 0: the default */
	bool reverse, count, all;
	bool follow;
	const char *patience; /* of --follow, as written; NULL: the default */
	const char *around;
	uint64_t context; /* events before and after --around */
	bool has_context;
	bool before, why, find_names;
	bool list, sandbox;
	bool symbols, no_symbols, lines;
	const char *program; /* the traced program, if the trace lacks its mappings; or NULL */
	const char *sort;
	uint64_t retry;   /* attach: seconds */
	bool has_retry;
	/* --until, --on, --do, --do-shell of events, state and when; NULL: not given */
	const char *until, *on, *do_command, *do_shell;
	const char *chunk, *partial; /* a sweep in parts; NULL: not given */
	struct words merge;          /* files of --merge */
	bool merges;
	uint64_t slurm;   /* number of Slurm tasks; 0: not given */
	bool probes;      /* do --probes */
	const char *file; /* do --file */
	char *memory;     /* owns the values of lists; options_release() frees it */
	void *own;        /* struct of the command's own options; NULL: it has none */
};

/*
 * Parses words[0 .. n), argv without the program's name. `in_prompt`: no TRACE is expected, and the
 * first word must be a command. False: ERR_QUERY, with what to do.
 */
MUST_CHECK bool options_parse(int n, char **words, bool in_prompt, struct options *out,
			      struct error *err);
/* The same for the words behind the name of a prompt's command that is not in commands[]. */
MUST_CHECK bool options_parse_of(const struct cmd *cmd, int n, char **words, struct options *out,
				 struct error *err);
/*
 * Parses and removes --all and --budget, which yore handles for analyses, from words[0 .. *n). The
 * *n other words stay, in their order.
 */
MUST_CHECK bool options_take_lists(struct options *out, size_t *n, char **words, struct error *err);
void options_release(struct options *options);
unsigned options_threads(const struct options *options); /* --jobs, else processors */

void words_add(struct words *words, const char *word); /* the word is borrowed */

struct option_info {
	const char *name;  /* "--begin" */
	const char *value; /* "TIME"; NULL: takes none */
	const char *help;
	unsigned group; /* bits of enum option_group; 0: in a command's own table */
};

enum option_kind { /* how the value is parsed */
		   TAKE_FLAG,
		   TAKE_TEXT,
		   TAKE_LIST,  /* several values, parted by commas */
		   TAKE_WORDS, /* one value, commas included; repeatable */
		   TAKE_FILES, /* likewise; the words up to the next option are values, too */
		   TAKE_NUMBER,
		   TAKE_JOBS,
		   TAKE_SIZE,
		   TAKE_CHOICE, /* the index, from 0, of the word in info.value */
		   TAKE_TOPICS
};

struct option {
	struct option_info info;
	enum option_kind kind;
	size_t at;     /* offset of the value in struct options, or in options->own */
	size_t has;    /* offset of a bool that is set with it; 0: none */
	uint64_t most; /* greatest value of TAKE_NUMBER */
	bool no_trace; /* with this option the command takes no TRACE */
};

/* The i-th option of the command (NULL: of no command), for help and completion; NULL: the end. */
const struct option_info *option_info(const struct cmd *cmd, size_t i);

/* Parses the size in YORE_INDEX_KEEP, which --prune without --keep uses. */
MUST_CHECK bool options_keep(uint64_t *out, struct error *err);

#endif
