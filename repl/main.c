/*
 * main.c - from argv to an exit status
 *
 *     0 answered · 1 could not · 2 the command line is wrong · 3 answered, part was damaged ·
 *     130 interrupted
 */
#include "engine/base/files.h"
#include "engine/base/inputs.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"
#include "engine/trace.h"
#include "remote/remote.h"
#include "repl/commands/cmds.h"
#include "repl/scripting.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { DONE = 0, COULD_NOT = 1, MISUSED = 2, DAMAGED = 3, INTERRUPTED = 130 };

static bool wants_color(const struct options *options)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (options->color != WHEN_AUTO)
		return options->color == WHEN_ALWAYS;
	return isatty(STDOUT_FILENO) && !(no && *no) && term && term[0] &&
	       options->format == FORMAT_TEXT;
}

static int main_failed(struct error *err)
{
	signals_explain(err);
	if (err->kind == ERR_INTERRUPTED)
		return INTERRUPTED;
	say_error(err);
	return err->kind == ERR_QUERY ? MISUSED : COULD_NOT;
}

/* Reports what the answer lacks, and returns the exit status. */
static int answered(struct session *session, const struct options *options)
{
	struct trace *trace = session->trace;
	bool damaged = session->damaged || (trace && atomic_load(&trace->damaged));

	if (session->lost)
		say("warning", "%s: the tracer lost events at %llu place%s", session->path,
		    (unsigned long long)session->lost, session->lost == 1 ? "" : "s");
	if (session->violated)
		return COULD_NOT;
	bool lacks = session->lost || session->outside || (trace && atomic_load(&trace->unknown));
	if (damaged || (options->strict && lacks))
		return DAMAGED;
	return session->status;
}

static int main_run(const struct options *options, struct session *session)
{
	struct error err = {0};
	struct sink sink;
	int status;

	sink_init(&sink, STDOUT_FILENO);
	sink.color = wants_color(options);
	sink.columns = terminal_columns(STDOUT_FILENO);
	if (!options->cmd) {
		session->prompt = true;
		session->status = prompt_run(session);
		status = session->status ? session->status : answered(session, options);
	} else if (cmd_run(session, options, &sink, &err)) {
		status = answered(session, options);
	} else {
		status = main_failed(&err);
	}
	sink_release(&sink);
	return status;
}

/* Prints what is no answer: version, help, a Slurm script, or usage if no command was given. */
static int print_only(const struct options *options, int n, char **words)
{
	bool help = options->version || options->help, misused = !help && !options->cmd;
	bool good = true;
	struct error err;
	struct sink sink;

	sink_init(&sink, misused ? STDERR_FILENO : STDOUT_FILENO);
	if (options->version)
		sink_text(&sink, "yore " YORE_VERSION "\n");
	else if (help && options->words.count && script_has_analysis(options->words.items[0]))
		good = help_analysis(options->words.items[0], &sink, &err);
	else if (help || misused)
		help_print(options->cmd, &sink);
	else
		good = slurm_script(options, n, words, &sink, &err);
	sink.whole = sink.len;
	sink_flush(&sink);
	if (good && sink.failed && !misused)
		say(NULL, "writing the answer: %s", sink_failure(&sink));
	int status = misused                ? MISUSED
		     : !good && !help       ? main_failed(&err)
		     : !good || sink.failed ? COULD_NOT
					    : DONE;
	sink_release(&sink);
	return status;
}

/*
 * Opens descriptors 0, 1 and 2 if the caller has closed them: else the index could get such a
 * number, and the answer would be written into it. Standard output is opened for reading only, so
 * that writing the answer fails (EBADF) instead of going nowhere.
 */
static void open_standard(void)
{
	static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[fd]) != fd)
			_exit(COULD_NOT); /* no place for a message */
}

/*
 * For `yore WORD TRACE` where WORD is no command but an analysis (also if a file has that name) or
 * a command of the start-up file: returns the words of `yore run WORD TRACE`, which the caller
 * frees. A file alone is a trace. NULL: parse the words as they are.
 */
static char **as_script(int argc, char **argv)
{
	static char run_word[] = "run";
	struct error err;
	char **words;

	if (argc < 2 || argv[1][0] == '-' || cmd_find(argv[1], &err))
		return NULL;
	if (!script_has_analysis(argv[1]) && (argc == 2 || !scripting_has_startup()))
		return NULL;
	bool more = false;
	for (int i = 2; i < argc; i++)
		more |= argv[i][0] != '-';
	if (access(argv[1], F_OK) == 0 && !(more && script_has_analysis(argv[1])))
		return NULL;
	words = mem_new_array((size_t)argc, sizeof *words);
	words[0] = run_word;
	for (int i = 1; i < argc; i++)
		words[i] = argv[i];
	return words;
}

int main(int argc, char **argv)
{
	struct options options;
	struct session session;
	struct error err = {0};
	char **script;
	int status;

	open_standard();
	script = as_script(argc, argv);
	setlocale(LC_CTYPE, "");
	signals_install();
	files_raise_limit();
	inputs_record();
	trace_locate_by(remote_locate);
	remote_stops_by(signals_interrupted);
	if (!options_parse(script ? argc : argc - 1, script ? script : argv + 1, false, &options,
			   &err)) {
		options_release(&options);
		mem_free(script);
		return main_failed(&err);
	}
	stats_begin(options.stats);
	if (options.version || options.help || (!options.cmd && !options.trace) ||
	    (options.slurm && !options.explain_only)) {
		status = print_only(&options, argc, argv);
	} else {
		signals_begin(options.memory_most);
		session_init(&session, &options, options.trace);
		status = main_run(&options, &session);
		if (options.stats)
			stats_print(&session);
		session_release(&session);
		temporary_remove_all(); /* folders made for URLs and archives */
	}
	options_release(&options);
	mem_free(script);
	return status;
}
