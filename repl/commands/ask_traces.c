/* ask_traces.c - see ask_traces.h; each trace is asked by a worker (trace_workers.h) */
#include "repl/commands/ask_traces.h"

#include "engine/base/mem.h"
#include "repl/commands/catalog_traces.h"
#include "repl/commands/trace_workers.h"
#include "repl/scripting.h"

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

static bool take_text(void *arg, size_t i, const struct sql_value *values, size_t count,
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

bool ask_traces(void *session, const struct script_asking *what, struct script_answers *out,
		struct error *err)
{
	struct trace_asking asking = {.what = what, .answers = out};
	struct folder_names paths = {0};
	const struct trace_work work = {.paths = &paths,
					.timeout = what->timeout,
					.work = ask_one,
					.row = take_text,
					.ended = take_end,
					.arg = &asking};

	bool ok = catalog_check(session, what->analysis, err) &&
		  catalog_traces(what->catalog, &paths, err);
	take_paths(&paths, out);
	ok = ok && trace_workers_run(session, &work, err);
	folder_release(&paths);
	return ok;
}
