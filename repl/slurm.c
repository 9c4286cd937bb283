/*
 * slurm.c - writes a script that runs a command line on the nodes of a Slurm cluster
 *
 *     sums       array: --chunk I/N --partial FILE ──> one job: --merge FILE...
 *     timelines  array: --exchange DIR ──────────────> the same here, which imports
 *
 * The script waits for its jobs and prints the answer that the command itself would print. The
 * environment of sbatch says where jobs run: SBATCH_PARTITION, SBATCH_TIMELIMIT and so on.
 */
#include "repl/commands/cmds.h"

#include "engine/base/temporary.h"

#include <string.h>

/* Quotes a word for sh. */
static void put_quoted(struct sink *sink, const char *word)
{
	sink_char(sink, '\'');
	for (; *word; word++)
		if (*word == '\'')
			sink_text(sink, "'\\''");
		else
			sink_char(sink, *word);
	sink_char(sink, '\'');
}

static void put_command(struct sink *sink, int n, char **words)
{
	for (int i = 0; i < n; i++) {
		if (!strcmp(words[i], "--slurm")) {
			i++;
			continue;
		}
		if (!strncmp(words[i], "--slurm=", strlen("--slurm=")))
			continue;
		if (i)
			sink_char(sink, ' ');
		put_quoted(sink, words[i]);
	}
}

static bool slurm_check(const struct options *options, bool index, struct error *err)
{
	const struct index_choices *own = options->own;

	if (options->follow)
		return error_set(err, ERR_QUERY, "--follow and --slurm do not go together");
	if (!options->trace)
		return error_set(err, ERR_QUERY, "--slurm needs a TRACE that all nodes have");
	if (index && (!own->exchange || !own->timelines))
		return error_set(err, ERR_QUERY, "index: --slurm is of --timelines --exchange");
	if (index && own->workers)
		return error_set(err, ERR_QUERY, "--slurm N says how many --workers there are");
	if (options->chunk || options->partial || options->merges)
		return error_set(err, ERR_QUERY,
				 "--slurm makes --chunk, --partial and --merge itself");
	return true;
}

/* Counts one of very many parts, and drops it: an error says that the question has no parts. */
static bool try_part(const struct options *options, struct error *err)
{
	struct options part = *options;
	struct session session;
	struct sink nowhere;

	part.slurm = 0;
	part.chunk = "1/1048576";
	part.partial = "/dev/null";
	signals_begin(options->memory_most);
	session_init(&session, &part, part.trace);
	sink_init_write(&nowhere, NULL, NULL);
	bool ok = cmd_run(&session, &part, &nowhere, err);
	sink_release(&nowhere);
	session_release(&session);
	temporary_remove_all();
	return ok;
}

/* Writes the job array up to the words of its command; logs and parts are in $work. */
static void put_array(const struct options *options, struct sink *sink, const char *more)
{
	const unsigned jobs = options->jobs ? options->jobs : 1;

	sink_printf(sink,
		    "#!/bin/sh\n"
		    "# %u tasks of Slurm. Run it by sh, where sbatch is, in a folder that all "
		    "nodes have.\n"
		    "work=$(mktemp -d \"$PWD/yore-slurm-XXXXXX\") || exit 1\n"
		    "export work\n"
		    "job=$(sbatch --parsable %s--array=1-%u --cpus-per-task=%u --job-name=yore \\\n"
		    "\t--output=/dev/null --error=\"$work/%%a.err\" <<'__yore__'\n"
		    "#!/bin/sh\n"
		    "exec ",
		    (unsigned)options->slurm, more, (unsigned)options->slurm, jobs);
}

static void put_jobs(const struct options *options, struct sink *sink)
{
	if (!options->jobs)
		sink_text(sink, " --jobs 1");
}

/* The merging job runs after any end of the parts: one that met damage exits with 3, and counts. */
static void put_sums(const struct options *options, int n, char **words, struct sink *sink)
{
	put_array(options, sink, "");
	put_command(sink, n, words);
	put_jobs(options, sink);
	sink_printf(
		sink,
		" --chunk \"$SLURM_ARRAY_TASK_ID/%u\" --partial "
		"\"$work/$SLURM_ARRAY_TASK_ID.part\"\n"
		"__yore__\n"
		") || exit 1\n"
		"sbatch --wait --dependency=\"afterany:${job%%%%;*}\" --job-name=yore \\\n"
		"\t--output=\"$work/answer\" --error=\"$work/merge.err\" <<'__yore__' >/dev/null\n"
		"#!/bin/sh\n"
		"exec ",
		(unsigned)options->slurm);
	put_command(sink, n, words);
	sink_text(sink, " --merge \"$work\"/*.part\n"
			"__yore__\n"
			"status=$?\n"
			"cat \"$work\"/*.err >&2\n"
			"cat \"$work/answer\" && rm -r \"$work\"\n"
			"exit $status\n");
}

static void put_timelines(const struct options *options, int n, char **words, struct sink *sink)
{
	put_array(options, sink, "--wait ");
	put_command(sink, n, words);
	put_jobs(options, sink);
	sink_printf(sink,
		    " --workers %u\n"
		    "__yore__\n"
		    ") || cat \"$work\"/*.err >&2\n"
		    "rm -r \"$work\"\n"
		    "exec ",
		    (unsigned)options->slurm);
	put_command(sink, n, words);
	sink_char(sink, '\n');
}

bool slurm_script(const struct options *options, int n, char **words, struct sink *sink,
		  struct error *err)
{
	bool index = !strcmp(options->cmd->name, "index");

	if (!slurm_check(options, index, err) || (!index && !try_part(options, err)))
		return false;
	sink->exact = true; /* the words are the user's, not a trace's */
	(index ? put_timelines : put_sums)(options, n, words, sink);
	sink_row(sink);
	sink_flush(sink);
	return true;
}
