/* convert_catalog.c - `convert --catalog`: converts each trace of a catalog into a partition */
#include "repl/commands/catalog.h"
#include "repl/commands/cmds.h"
#include "repl/commands/trace_workers.h"

#include <string.h>

enum { TOLD_MOST = 10 };

struct converting {
	struct session *session;
	const struct options *options;
	struct folder_names paths;
	size_t failed, damaged;
	struct error last;
};

static bool convert_one_of(void *arg, size_t i, struct session *session,
			   struct trace_worker *worker, struct error *err)
{
	(void)arg;
	(void)i;
	(void)worker;
	return convert_trace(session, session->options, err);
}

static bool end_one(void *arg, size_t i, const struct worker_end *end, struct error *err)
{
	struct converting *all = arg;
	bool failed = end->fate != WORKER_DONE;

	(void)err;
	all->failed += failed;
	all->damaged += !failed && end->damaged;
	if (failed)
		all->last = end->error;
	if ((!failed && !end->damaged) || all->paths.count == 1 ||
	    all->failed + all->damaged > TOLD_MOST)
		return true;
	const char *path = all->paths.items[i], *text = end->error.text;
	if (!failed)
		worker_tell_damage(1, path, end->said, "converted");
	else if (!strncmp(text, path, strlen(path)))
		say("failed", "%s", text);
	else
		say("failed", "%s: %s", path, text);
	return true;
}

static bool convert_catalog_check(const struct session *session, const struct options *options,
				  struct error *err)
{
	const struct convert_choices *own = options->own;

	if (!own->partition)
		return error_set(err, ERR_QUERY, "convert: --catalog wants --partition");
	return catalog_check(session, "convert --catalog", err) && convert_check(options, err);
}

static bool convert_all(struct converting *all, struct error *err)
{
	const struct convert_choices *own = all->options->own;
	const struct trace_work work = {.paths = &all->paths,
					.timeout = own->timeout,
					.work = convert_one_of,
					.ended = end_one,
					.arg = all};
	size_t wrong;

	if (!trace_workers_run(all->session, &work, err))
		return false;
	wrong = all->failed + all->damaged;
	if (wrong > TOLD_MOST)
		say("failed", "and %zu more", wrong - TOLD_MOST);
	if (all->failed == 1 && all->paths.count == 1) {
		*err = all->last;
		return false;
	}
	if (all->failed && all->failed == all->paths.count)
		return error_set(err, ERR_IO, "none of the %zu traces could be converted",
				 all->failed);
	if (wrong)
		all->session->status = 3;
	return true;
}

bool convert_catalog(struct session *session, const struct options *options, struct error *err)
{
	const struct convert_choices *own = options->own;
	const char *catalog = own->catalog;
	struct converting all = {.session = session, .options = options};
	bool ok = convert_catalog_check(session, options, err) &&
		  catalog_traces(catalog, &all.paths, err);

	if (ok && !all.paths.count)
		session_note(session, "%s: there is no trace below it", catalog);
	ok = ok && convert_all(&all, err);
	folder_release(&all.paths);
	return ok;
}
