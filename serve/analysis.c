/* analysis.c - see analysis.h */
#include "serve/analysis.h"

#include "lua-lib/script.h"
#include "state/state.h"

#include <string.h>

enum { OUTPUT_MOST = 16 << 20, MEMORY = 256 << 20, ARGS_MOST = 8 };

struct running_analysis {
	struct served_request *request;
	struct buf *out;
};

/* False ends the script: its output is longer than a viewer can show. */
static bool write_out(void *arg, const char *bytes, size_t count)
{
	struct running_analysis *running = arg;

	if (running->out->len + count > OUTPUT_MOST)
		return false;
	buf_add(running->out, bytes, count);
	return true;
}

static bool get_state(void *arg, struct state **out, struct error *err)
{
	struct running_analysis *running = arg;

	*out = served_state(running->request->served, running->request->worker, 0, err);
	return *out != NULL;
}

static bool get_rules(void *arg, struct rules **out, struct error *err)
{
	struct state *state;

	if (!get_state(arg, &state, err))
		return false;
	*out = state_rules(state);
	return true;
}

static bool run_script(struct script *script, struct running_analysis *running, const char *name,
		       const char *const *args, size_t nargs, const struct asked_range *range)
{
	struct error *err = &running->request->err;
	const struct script_trace trace = {.index = running->request->served->index,
					   .state = get_state,
					   .rules = get_rules,
					   .arg = running};
	struct buf traceback = {0};
	int status;

	if (!script_set_trace(script, &trace, err))
		return false;
	script_set_range(script, range->begin, range->end);
	bool good = script_run(script, name, args, nargs, &status, err, &traceback);
	buf_release(&traceback);
	return good;
}

bool analysis_run(struct served_request *request, const char *name, const char *const *args,
		  size_t nargs, const struct asked_range *range, struct buf *out)
{
	struct running_analysis running = {request, out};
	struct worker *worker = request->worker;
	struct error *err = &request->err;
	const struct script_options options = {.memory = MEMORY,
					       .interrupted = &worker->stop,
					       .write = write_out,
					       .write_arg = &running,
					       .lua_dir = worker->serving->options->lua_dir};
	const char *words[ARGS_MOST] = {"--format", "json"};
	struct script *script;

	if (strspn(name, "abcdefghijklmnopqrstuvwxyz-") != strlen(name) ||
	    !script_has_analysis(name))
		return error_set(err, ERR_RANGE, "there is no analysis of that name");
	for (size_t i = 0; i < nargs && i + 2 < ARGS_MOST; i++)
		words[i + 2] = args[i];
	if (!script_open(&options, &script, err))
		return false;
	bool good = run_script(script, &running, name, words, nargs + 2, range);
	script_close(script);
	if (!good && worker->stop)
		return error_set(err, ERR_INTERRUPTED, "interrupted");
	return good;
}
