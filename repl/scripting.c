/* scripting.c - connects a session and a Lua state: trace, times, output, start-up file */

#include "repl/scripting.h"

#include "engine/base/budget.h"
#include "engine/base/mem.h"
#include "repl/commands/catalog.h"
#include "repl/commands/partials.h"
#include "repl/commands/trace_workers.h"

#include <stdlib.h>
#include <unistd.h>

struct scripting {
	struct session *session;
	struct sink *sink;
	struct script *script;
	void (*drain)(void *arg);
	void *drain_arg;
	struct signals_told before; /* handler of the script that runs around this one */
	bool told;
	struct script_parts parts; /* --chunk or --merge: */
	struct partials partials;
	bool parts_done; /* a chunk was saved, or all were joined */
};

static bool write_sink(void *arg, const char *bytes, size_t count)
{
	struct sink *sink = arg;

	sink_add(sink, bytes, count);
	if (!count || bytes[count - 1] != '\n')
		return !sink->closed;
	return sink_row(sink);
}

static bool flush_sink(void *arg)
{
	return sink_flush(arg);
}

static bool get_rules(void *arg, struct rules **out, struct error *err)
{
	struct session *session = arg;

	if (!session_rules(session, err))
		return false;
	*out = session->rules;
	return true;
}

static bool read_time(void *arg, const char *text, nstime *out, struct error *err)
{
	return session_time(arg, text, out, err);
}

static size_t show_time(void *arg, nstime t, char *to)
{
	struct times times;
	struct error err;

	if (!session_times(arg, &times, &err))
		times_init(&times, TIME_NS, false, false, NSTIME_MIN, NSTIME_MIN);
	return (size_t)(time_put(&times, t, to) - to);
}

bool scripting_take_trace(struct scripting *scripting, struct error *err)
{
	struct script_trace trace = {.state = session_give_state,
				     .rules = get_rules,
				     .time_parse = read_time,
				     .time_text = show_time,
				     .symbols = session_give_symbols,
				     .arg = scripting->session};

	if (!scripting->session->path)
		return true;
	trace.index = session_index(scripting->session, err);
	return trace.index && script_set_trace(scripting->script, &trace, err) &&
	       scripting_update(scripting, err);
}

static bool save(const char *path, const char *bytes, size_t count, struct error *err)
{
	struct sink_file file;

	if (!sink_file_open(&file, path, err))
		return false;
	sink_set_exact(&file.sink, true);
	sink_add(&file.sink, bytes, count);
	sink_row(&file.sink);
	return sink_file_close(&file, true, err);
}

static void interrupt(void *script)
{
	script_interrupt(script);
}

static void set_lists(void *session, struct state *state)
{
	session_set_lists(session, state);
}

/* yore.ask_traces(): workers run an analysis on each trace of a catalog ------------------------ */

struct trace_asking {
	const struct script_asking *what;
	struct script_answers *answers;
};

static bool tell_printed(const struct sink *sink, struct trace_worker *worker, struct error *err)
{
	struct buf text = {0};

	buf_add(&text, sink->data, sink->whole);
	const struct sql_value value = sql_text_value(buf_text(&text));
	bool ok = worker_row(worker, &value, 1, err);
	buf_release(&text);
	return ok;
}

static bool ask_one(void *arg, size_t i, struct session *session, struct trace_worker *worker,
		    struct error *err)
{
	const struct trace_asking *asking = arg;
	const struct script_asking *what = asking->what;
	struct scripting *scripting = NULL;
	struct sink sink;
	int status = 0;

	(void)i;
	sink_init_write(&sink, NULL, NULL);
	bool ok = scripting_open(session, &sink, &scripting, err) &&
		  scripting_run(scripting, what->analysis, what->words, what->nwords, &status, err);
	ok = ok && tell_printed(&sink, worker, err);
	scripting_close(scripting);
	sink_release(&sink);
	return ok;
}

static bool scripting_take_text(void *arg, size_t i, const struct sql_value *values, size_t count,
				struct error *err)
{
	const struct trace_asking *asking = arg;
	struct buf text = {0};

	(void)err;
	if (count)
		buf_add(&text, values->bytes, values->len);
	mem_free(asking->answers->items[i].text);
	asking->answers->items[i].text = text.data ? text.data : mem_strdup("");
	return true;
}

static bool take_end(void *arg, size_t i, const struct worker_end *end, struct error *err)
{
	const struct trace_asking *asking = arg;
	struct script_answer *answer = &asking->answers->items[i];

	(void)err;
	answer->damaged = end->damaged;
	if (end->fate == WORKER_DONE && answer->text)
		return true;
	mem_free(answer->text);
	answer->text = NULL;
	answer->error = mem_strdup(end->error.text);
	return true;
}

static void take_paths(struct folder_names *paths, struct script_answers *out)
{
	for (size_t i = 0; i < paths->count; i++)
		*mem_push(out->items, out->count, out->capacity) =
			(struct script_answer){.path = mem_strdup(paths->items[i])};
}

/* The callback of struct script_options. `session`: the script's, which has no trace open. */
static bool ask_traces(void *session, const struct script_asking *what, struct script_answers *out,
		       struct error *err)
{
	struct trace_asking asking = {.what = what, .answers = out};
	struct folder_names paths = {0};
	const struct trace_work work = {.paths = &paths,
					.timeout = what->timeout,
					.work = ask_one,
					.row = scripting_take_text,
					.ended = take_end,
					.arg = &asking};

	bool ok = catalog_check(session, what->analysis, err) &&
		  catalog_traces(what->catalog, &paths, err);
	take_paths(&paths, out);
	ok = ok && trace_workers_run(session, &work, err);
	folder_release(&paths);
	return ok;
}

/* --chunk and --merge: a script whose answer is sums --------------------------------------------
 */

static bool begin_parts(void *arg, const char *question, size_t len, struct script_part *out,
			struct error *err)
{
	struct scripting *scripting = arg;
	struct partials *partials = &scripting->partials;

	if (partials->session)
		return error_set(err, ERR_SCRIPT, "yore.parts() was called before");
	if (!session_rules(scripting->session, err) ||
	    !partials_begin(scripting->session, PARTIAL_ANALYSIS, question, len, partials, err))
		return false;
	*out = (struct script_part){.joins = partials->mode == PARTIALS_MERGE,
				    .chunk = partials->chunk.i,
				    .of = partials->chunk.n};
	if (out->joins)
		out->of = partials->count;
	scripting->parts_done = out->joins;
	return true;
}

static const char *text_of_part(void *arg, uint32_t chunk, size_t *len)
{
	const struct buf *body = &((const struct scripting *)arg)->partials.items[chunk].body;

	*len = body->len;
	return buf_text(body);
}

static bool save_part(void *arg, const char *text, size_t len, struct error *err)
{
	struct scripting *scripting = arg;
	struct buf body = {0};

	if (!scripting->partials.session || scripting->parts_done)
		return error_set(err, ERR_SCRIPT,
				 "yore.save_part() is called once, after yore.parts()");
	buf_add(&body, text, len);
	scripting->parts_done =
		partials_write(&scripting->partials, &body, false, scripting->sink, err);
	buf_release(&body);
	return scripting->parts_done;
}

/* After a script ended without error: has it counted its part, if it was asked for one? */
static bool check_parts(const struct scripting *scripting, struct error *err)
{
	return !scripting->parts.asked || scripting->parts_done ||
	       partials_not_sums(scripting->session->options,
				 "the script does not add up sums by yore.parts()", err);
}

bool scripting_open(struct session *session, struct sink *sink, struct scripting **out,
		    struct error *err)
{
	struct scripting *scripting = mem_new(sizeof *scripting);
	const struct options *told = session->options;
	size_t most = budget_most();
	struct script_options options = {.memory = most < SCRIPT_MEMORY ? most : SCRIPT_MEMORY,
					 .interrupted = signals_flag(),
					 .sandbox = told->sandbox,
					 .opening = {told->no_index, told->index_dir, told->input,
						     told->key_file, told->rules.items,
						     told->rules.count},
					 .notices = session_notices(session),
					 .write = write_sink,
					 .write_arg = sink,
					 .flush = flush_sink,
					 .save = save,
					 .ask = ask_traces,
					 .ask_arg = session,
					 .set_lists = set_lists,
					 .parts = &scripting->parts};

	scripting->session = session;
	scripting->sink = sink;
	scripting->parts =
		(struct script_parts){.asked = told->chunk || told->partial || told->merges,
				      .begin = begin_parts,
				      .text = text_of_part,
				      .save = save_part,
				      .arg = scripting};
	if (!script_open(&options, &scripting->script, err) || !scripting_take_trace(scripting, err)) {
		scripting_close(scripting);
		return false;
	}
	scripting->before = signals_tell((struct signals_told){interrupt, scripting->script});
	scripting->told = true;
	*out = scripting;
	return true;
}

void scripting_close(struct scripting *scripting)
{
	if (!scripting)
		return;
	if (scripting->told)
		signals_tell(scripting->before);
	script_close(scripting->script);
	partials_end(&scripting->partials);
	mem_free(scripting);
}

void scripting_set_drain(struct scripting *scripting, void (*drain)(void *arg), void *arg)
{
	scripting->drain = drain;
	scripting->drain_arg = arg;
}

struct script *scripting_script(const struct scripting *scripting)
{
	return scripting->script;
}

bool scripting_update(struct scripting *scripting, struct error *err)
{
	struct session *session = scripting->session;
	nstime begin, end;

	if (!session_range(session, &begin, &end, err))
		return false;
	script_set_range(scripting->script, begin, end);
	script_set_moment(scripting->script, session->has_moment ? session->moment : NSTIME_MIN);
	return true;
}

/* Ends a call: shows the script's output, keeps the traceback for say_error(), frees the text. */
static void end_call(struct scripting *scripting, struct buf *traceback)
{
	scripting->sink->whole = scripting->sink->len; /* a line without its end is a line, too */
	if (traceback->len) {
		sink_flush(scripting->sink);
		if (scripting->drain)
			scripting->drain(scripting->drain_arg);
		say_after_error(traceback->data);
	}
	buf_release(traceback);
}

void user_file(const char *variable, const char *folder, const char *name, struct buf *out)
{
	const char *set = getenv(variable), *home = getenv("HOME");

	if (set && *set)
		buf_printf(out, "%s/yore/%s", set, name);
	else if (home && *home)
		buf_printf(out, "%s/%s/yore/%s", home, folder, name);
}

bool scripting_has_startup(void)
{
	struct buf path = {0};
	bool has;

	user_file("XDG_CONFIG_HOME", ".config", "init.lua", &path);
	has = path.len && access(buf_text(&path), R_OK) == 0;
	buf_release(&path);
	return has;
}

void scripting_startup(struct scripting *scripting)
{
	struct buf path = {0}, traceback = {0};
	struct error err;

	user_file("XDG_CONFIG_HOME", ".config", "init.lua", &path);
	if (path.len && !script_startup(scripting->script, buf_text(&path), &err, &traceback)) {
		end_call(scripting, &traceback);
		sink_flush(scripting->sink);
		say_error(&err);
	}
	buf_release(&path);
	buf_release(&traceback);
}

bool scripting_run(struct scripting *scripting, const char *name, const char *const *args,
		   size_t nargs, int *status, struct error *err)
{
	struct buf traceback = {0};
	bool done, added = false;

	if (!script_is_file(scripting->script, name)) {
		scripting_startup(scripting);
		done = scripting_command(scripting, name, args, nargs, &added, status, err);
		if (added)
			return done && check_parts(scripting, err);
	}
	done = script_run(scripting->script, name, args, nargs, status, err, &traceback);
	end_call(scripting, &traceback);
	return done && check_parts(scripting, err);
}

bool scripting_command(struct scripting *scripting, const char *name, const char *const *args,
		       size_t nargs, bool *found, int *status, struct error *err)
{
	struct buf traceback = {0};
	bool done;

	*status = 0;
	*found = script_command_find(scripting->script, name) != NULL;
	if (!*found)
		return true;
	done = script_command_run(scripting->script, name, args, nargs, status, err, &traceback);
	end_call(scripting, &traceback);
	return done;
}

enum script_line scripting_eval(struct scripting *scripting, const char *text, struct error *err)
{
	struct buf traceback = {0};
	enum script_line line = script_eval(scripting->script, text, err, &traceback);

	end_call(scripting, &traceback);
	return line;
}
