/* cmd_run.c - runs Lua scripts, and the analyses that come with yore */
#include "repl/commands/cmds.h"
#include "repl/commands/following.h"
#include "repl/commands/partials.h"
#include "repl/render/redraw.h"
#include "repl/render/render.h"
#include "repl/scripting.h"

#include <string.h>

/* --list */
static bool cmd_run_list(enum format format, struct sink *sink, struct error *err)
{
	static const struct table_column columns[] = {{"name", false}, {"summary", false}};
	struct script_analyses analyses;
	struct rows rows;

	if (!script_analyses_read(NULL, &analyses, err))
		return false;
	rows_begin(&rows, sink, format, columns, 2);
	for (size_t i = 0; i < analyses.count; i++) {
		if (format == FORMAT_TEXT)
			sink_printf(rows_cell(&rows), "%-14s", analyses.items[i].name);
		else
			rows_text(&rows, analyses.items[i].name);
		rows_text(&rows, analyses.items[i].summary);
		rows_end(&rows);
	}
	rows_finish(&rows);
	script_analyses_release(&analyses);
	return true;
}

static bool is_script(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && !strcmp(path + len - 4, ".lua");
}

/* Are the words swapped: `run TRACE SCRIPT`? */
static bool is_turned(const char *script, const char *trace)
{
	return trace && !is_script(script) && !script_has_analysis(script) &&
	       (is_script(trace) || script_has_analysis(trace));
}

static bool run_once(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	const struct words *words = &options->words;
	struct scripting *scripting;

	if (!scripting_open(session, sink, &scripting, err))
		return false;
	bool ok = scripting_run(scripting, words->items[0], words->items + 1, words->count - 1,
				&session->status, err);
	scripting_close(scripting);
	return ok;
}

/* --follow ------------------------------------------------------------------------------------- */

struct running {
	struct session *session;
	const struct options *options;
	struct sink *sink;
	struct redraw redraw;
	bool draws; /* on a terminal: draws the script's output for the trace so far */
	bool begun;
};

/* Runs the script and draws its output. If it fails, for lack of events so far, keeps the last. */
static void cmd_run_draw(struct running *running)
{
	struct buf said = {0};
	struct error ignored;
	struct sink rows;

	sink_init(&rows, -1);
	rows.columns = running->sink->columns;
	struct buf *before = say_into(&said);
	bool good = run_once(running->session, running->options, &rows, &ignored);
	say_into(before);
	if (good)
		redraw_show(&running->redraw, NULL, &rows);
	sink_release(&rows);
	buf_release(&said);
}

/* A follow_more. */
static bool cmd_run_more(void *arg, struct follow *follow, const struct follow_news *news,
			 bool *done, struct error *err)
{
	struct running *running = arg;

	(void)follow;
	if (!follow_has_begun(running->session, NSTIME_MIN, news->end, &running->begun, err))
		return false;
	if (news->ended || !running->draws || !running->begun)
		return true;
	redraw_wait(&running->redraw);
	cmd_run_draw(running);
	*done = running->sink->closed;
	return true;
}

/* Follows the trace; at its end, and after Ctrl-C, runs the script as without --follow. */
static bool run_following(struct session *session, const struct options *options,
			  struct sink *sink, struct error *err)
{
	struct running running = {
		.session = session, .options = options, .sink = sink, .redraw = {.sink = sink}};
	struct error ignored;

	if (!session->path || options->list)
		return error_set(err, ERR_QUERY, "--follow needs a script and its TRACE");
	running.draws = redraw_can(sink);
	bool ok = follow_run(session, options, sink->fd, cmd_run_more, &running, err);
	redraw_clear(&running.redraw);
	if (ok)
		return sink->closed || run_once(session, options, sink, err);
	if (running.begun && follow_interrupted(err))
		(void)!run_once(session, options, sink, &ignored);
	return false;
}

static bool run_run(struct session *session, const struct options *options, struct sink *sink,
		    struct error *err)
{
	const struct words *words = &options->words;
	enum partials_mode mode; /* the script does what it asks for */

	if (!partials_asked(options, &mode, err))
		return false;
	if (options->sandbox && !strchr(words->items[0], '/') && !strstr(words->items[0], ".lua"))
		return error_set(err, ERR_QUERY,
				 "--sandbox: '%s' names an analysis that comes with yore, which needs "
				 "none; a script in this folder is ./%s",
				 words->items[0], words->items[0]);
	if (!options->list && is_turned(words->items[0], session->path))
		return error_set(err, ERR_QUERY, "run: the script comes first: yore run %s %s",
				 session->path, words->items[0]);
	if (!follow_words(options, err))
		return false;
	if (options->list && !options->follow)
		return cmd_run_list(options->format, sink, err);
	return (options->follow ? run_following : run_once)(session, options, sink, err);
}

const struct cmd cmd_run_script = {
	/* clang-format off */
	.name = "run",
	.args = "SCRIPT TRACE [ARGS...]",
	.summary = "runs a Lua script, the trace open as `trace`",
	.help = "Runs a Lua file; a bare NAME runs the analysis of that name that comes with yore\n"
		"(--list names them). The script finds the trace as `trace`, its arguments in `arg`.\n"
		"--sandbox runs a script of somebody else's: it can ask the trace and print, and has\n"
		"neither io, os, require nor yore.open.\n"
		"Options before SCRIPT are yore's, all words after TRACE are the script's.\n"
		"\n"
		"--follow runs it again and again while the trace is written, and draws what it prints\n"
		"in place, on a terminal alone. When the recording has ended, and after Ctrl-C, it runs\n"
		"once more as without --follow. A script that is to see each event once has\n"
		"trace:follow{}.\n"
		"\n"
		"--chunk I/N --partial FILE counts part I of N of a script that adds up sums, as cputop,\n"
		"switches and top do; --merge FILE... answers from the files of all parts.\n"
		"\n"
		"Examples:\n"
		"  $ yore run --list\n"
		"  $ yore run cputop fixtures/golden/sched-demo\n"
		"  $ yore run --begin +1ms --end +5ms switches fixtures/golden/sched-demo\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_FORMAT | OPT_RULES | OPT_LIST | OPT_LISTS |
		   OPT_FOLLOW | OPT_PARTIALS | OPT_SLURM,
	.words = WORD_FILE,
	.min_words = 1,
	.max_words = -1,
	.run = run_run,
}; /* clang-format on */
