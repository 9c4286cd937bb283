/* cmds.h - the entries of all commands, and what main and the prompt share to run one */
#ifndef REPL_COMMANDS_CMDS_H
#define REPL_COMMANDS_CMDS_H

#include "repl/cmd.h"

extern const struct cmd cmd_info, cmd_index, cmd_check, cmd_dump, cmd_events, cmd_at, cmd_state,
	cmd_when, cmd_longest, cmd_diff, cmd_stats, cmd_timeline, cmd_run_script, cmd_rules,
	cmd_explain, cmd_frame, cmd_repl, cmd_help, cmd_aux, cmd_convert, cmd_sql, cmd_do,
	cmd_attach, cmd_live, cmd_sessions, cmd_view, cmd_serve, cmd_catalog;

/* Runs options->cmd, or explains it, or prints its help; flushes the sink. */
MUST_CHECK bool cmd_run(struct session *session, const struct options *options, struct sink *sink,
			struct error *err);

/*
 * The prompt: runs commands, SQL and Lua on one trace, until the end of input or `quit`. On a
 * terminal it edits lines, keeps a history and pages long output; else it reads plain lines and
 * echoes nothing. Returns the program's exit status.
 */
int prompt_run(struct session *session);

bool help_print(const struct cmd *cmd, struct sink *sink); /* NULL: the overview */
MUST_CHECK bool help_analysis(const char *name, struct sink *sink, struct error *err);
MUST_CHECK bool explain_print(struct session *session, const struct options *options,
			      struct sink *sink, struct error *err);
struct rows;
struct state_plan;
/* Ends a row with these cells: evaluation, reason, attributes, checkpoint. */
void plan_row(struct rows *rows, struct times *times, const struct state_plan *plan);
/* Writes the plan as lines of text. */
void plan_text(struct sink *sink, const struct state_plan *plan);

struct sql_choices {         /* options of `sql` alone */
	const char *catalog; /* a folder, or a file of `yore catalog --to`; NULL: one trace */
	const char *then, *timeout; /* with --catalog; NULL: not given */
};
/* `sql --catalog`: runs the query on each trace, then a SELECT over all rows. */
MUST_CHECK bool sql_catalog(struct session *session, const struct options *options,
			    struct sink *sink, struct error *err);

struct picture;
struct convert_choices {                 /* options of `convert` alone */
	const char *to;                  /* the format; NULL: by the path's ending */
	const char *compress, *checksum; /* of packets; NULL: none */
	bool no_state, with_state, partition;
	const char *catalog, *timeout; /* convert each trace of a catalog; NULL: not given */
};
/* Does the format take the options? False: *err. */
MUST_CHECK bool convert_check(const struct options *options, struct error *err);
struct wanteds;
/* Parses the paths behind OUT, else those of `usual`, which NULL ends; all if `usual` is NULL. */
MUST_CHECK bool convert_paths(const struct options *options, const char *const *usual,
			      struct wanteds *out, struct error *err);
/* `convert`: converts the session's trace. */
MUST_CHECK bool convert_trace(struct session *session, const struct options *options,
			      struct error *err);
/* `convert --catalog`: converts each trace of a catalog. */
MUST_CHECK bool convert_catalog(struct session *session, const struct options *options,
				struct error *err);
/* As convert_trace(), but writes the runs of a picture in place of events and intervals. */
MUST_CHECK bool convert_picture(struct session *session, const struct options *options,
				const struct picture *picture, struct error *err);

struct timeline_choices { /* options of `timeline` alone */
	const char *svg;
	uint64_t width; /* characters, or pixels of an SVG */
	bool has_width;
};

/* `timeline --follow`: draws the last while again and again; --begin -SPAN is its length. */
MUST_CHECK bool timeline_follow(struct session *session, const struct options *options,
				struct sink *sink, struct error *err);
/*
 * How many columns a drawing has (cmd_timeline.c): the terminal's width or --width, less the
 * labels. Sets *most_label, the most characters of a label, and *named: labels of threads have room
 * for names.
 */
uint32_t timeline_columns(const struct options *options, size_t *most_label, bool *named);
/* Limits of waiting for a relay; Ctrl-C ends it. `arg` is the callbacks' argument. */
struct connection_limits;
struct connection_limits relay_limits(void *arg);

/*
 * Writes a script for sh, in which --slurm N tasks run the command words[0 .. n), argv. False: the
 * options do not go together, the trace cannot be opened, or the question has no parts.
 */
MUST_CHECK bool slurm_script(const struct options *options, int n, char **words, struct sink *sink,
			     struct error *err);

/* --stats: what a run cost */
void stats_begin(bool sample);             /* at the start of the program */
void stats_print(struct session *session); /* one line of JSON on standard error */

struct index_choices { /* options of `index` alone */
	bool drop, timelines;
	bool manifest;            /* write a list of a folder's files, for reading over HTTP */
	const char *exchange;     /* a folder; NULL: not given */
	uint64_t workers;         /* 0: not given; likewise */
	uint64_t lapse;           /* s */
	bool list, verify, prune; /* the stored data of all traces */
	uint64_t keep;            /* bytes that --prune leaves; 0: not given */
};

#endif
