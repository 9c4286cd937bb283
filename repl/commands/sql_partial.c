/* sql_partial.c - `sql QUERY --chunk I/N --partial FILE` and `--merge FILE...` */
#include "repl/commands/partials.h"
#include "repl/commands/sql_shell.h"

#include "engine/base/mem.h"
#include "repl/progress.h"

#include <string.h>

/* The one statement of the text; the caller ends it, also after false. */
static bool prepare(struct sql_shell *shell, const char *text, struct sql_statement **out,
		    struct error *err)
{
	struct sql_statement *more = NULL;
	const char *rest = text;

	sql_in_parts(shell->sql, true);
	bool good = sql_prepare(shell->sql, text, &rest, out, err);
	good = good && (!*rest || sql_prepare(shell->sql, rest, &rest, &more, err));
	sql_in_parts(shell->sql, false);
	if (good && (!*out || more))
		good = partials_not_sums(shell->session->options,
					 "there must be one statement, no more and no less", err);
	sql_finish(more);
	return good;
}

static bool write_chunk(struct partials *partials, struct sql_statement *statement,
			struct sink *sink, struct error *err)
{
	struct buf body = {0};
	struct partial_work work = partials_work(partials, &body);
	enum step step = STEP_ITEM;

	bool good = sql_set_partials(statement, &work, err);
	while (good && step == STEP_ITEM)
		step = sql_step(statement, err);
	progress_clear(partials->session->progress);
	good = (good && step == STEP_END) || partials_explain(partials, &work, err);
	good = good && partials_write(partials, &body, work.whole, sink, err);
	buf_release(&body);
	return good;
}

static bool merge(struct partials *partials, const struct sql_shell *shell,
		  struct sql_statement *statement, struct sink *sink, struct error *err)
{
	struct partial_work work = partials_work(partials, NULL);
	bool good = (sql_set_partials(statement, &work, err) &&
		     sql_rows_write(shell, statement, sink, err)) ||
		    partials_explain(partials, &work, err);

	for (uint32_t i = 0; good && !sink->closed && i < work.count; i++)
		if (work.bodies[i].pos != work.bodies[i].size)
			good = partials_refuse(partials, i, PARTIAL_DAMAGED, err);
	mem_free(work.bodies);
	return good;
}

bool sql_partial(struct session *session, const struct options *options, struct sink *sink,
		 struct error *err)
{
	const char *text = options->words.count ? options->words.items[0] : "";
	struct sql_shell *shell = sql_shell_get(session, err);
	struct sql_statement *statement = NULL;
	struct partials partials = {0};

	if (!shell)
		return false;
	if (options->words.count != 1 || text[0] == '.' || !strcmp(text, "-"))
		return partials_not_sums(options, "there must be one QUERY on the command line",
					 err);
	bool good =
		prepare(shell, text, &statement, err) &&
		partials_begin(session, PARTIAL_SQL, text, strlen(text), &partials, err) &&
		(partials.mode == PARTIALS_MERGE ? merge(&partials, shell, statement, sink, err)
						 : write_chunk(&partials, statement, sink, err));
	sql_finish(statement);
	partials_end(&partials);
	return good;
}
