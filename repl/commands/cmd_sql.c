/* cmd_sql.c - questions in SQL */
#include "repl/commands/cmds.h"
#include "repl/commands/following.h"
#include "repl/commands/partials.h"
#include "repl/commands/sql_shell.h"

#include <string.h>
#include <unistd.h>

static bool run_sql(struct session *session, const struct options *options, struct sink *sink,
		    struct error *err)
{
	const struct sql_choices *own = options->own;
	enum partials_mode mode;

	if (!follow_words(options, err) || !partials_asked(options, &mode, err))
		return false;
	if (own->catalog && mode != PARTIALS_NONE)
		return error_set(err, ERR_QUERY,
				 "sql: --catalog does not go together with --partial and --merge, "
				 "which are of one trace");
	if (own->catalog)
		return sql_catalog(session, options, sink, err);
	if (own->then || own->timeout)
		return error_set(err, ERR_QUERY, "sql: %s is of --catalog",
				 own->then ? "--then" : "--timeout");
	if (mode != PARTIALS_NONE)
		return sql_partial(session, options, sink, err);
	if (options->follow)
		return sql_follow(session, options, sink, err);
	struct sql_shell *shell = sql_shell_get(session, err);
	bool ok = shell != NULL;

	if (ok && !options->words.count)
		return sql_shell_read(shell, STDIN_FILENO, "standard input", sink, err);
	for (size_t i = 0; ok && i < options->words.count; i++) {
		const char *word = options->words.items[i];
		ok = !strcmp(word, "-")
			     ? sql_shell_read(shell, STDIN_FILENO, "standard input", sink, err)
			     : sql_shell_run(shell, word, sink, err);
	}
	return ok;
}

#define OWN(member) offsetof(struct sql_choices, member)

static const struct option own_options[] = {
	/* clang-format off */
	{{"--catalog", "DIR|FILE", "ask each trace below a folder, or of a file of 'yore catalog --to'", 0}, TAKE_TEXT, .at = OWN(catalog), .no_trace = true},
	{{"--then", "SELECT", "with --catalog: a SELECT over the rows of all, in the table rows", 0}, TAKE_TEXT, .at = OWN(then)},
	{{"--timeout", "SPAN", "with --catalog: how long a trace may take: 30s, 500ms", 0}, TAKE_TEXT, .at = OWN(timeout)},
	{.info.name = NULL},
}; /* clang-format on */

const struct cmd cmd_sql = {
	.name = "sql",
	.args = "[QUERY...]",
	.summary = "rows of a query; without one, from standard input",
	.help = "Answers queries in SQL. There is a table of all events, one per event class "
		"with a\n"
		"column per field, and others; .tables names them, .schema shows their columns, "
		".help\n"
		"lists what else begins with a dot. A query reads the packets that its "
		"conditions\n"
		"leave; EXPLAIN QUERY PLAN says which those are. See yore-sql(7).\n"
		"\n"
		"--follow goes on while the trace is written: rows of one SELECT come when no "
		"earlier\n"
		"event can come any more. They must be of single events, in the order of ts: what\n"
		"is made of many rows is refused. docs/live.md says what is final.\n"
		"\n"
		"--catalog asks every trace below a folder the same query, in processes that share "
		"the\n"
		"work (--jobs): trace and host are columns there, of each trace. --then is a "
		"SELECT "
		"over\n"
		"the rows of all, in the table rows; failures has the traces that gave none, and "
		"why.\n"
		"See docs/catalog.md.\n"
		"\n"
		"--chunk I/N --partial FILE counts one SELECT of groups and aggregates in part I "
		"of N "
		"of\n"
		"the trace; --merge and the files of all parts answers it. docs/sql.md says "
		"which.\n"
		"\n"
		"Examples:\n"
		"  $ yore sql --catalog fixtures/golden/sched-demo 'SELECT trace, count(*) FROM "
		"events'\n"
		"  $ yore sql --catalog fixtures/golden/sched-perf 'SELECT name, count(*) AS n "
		"FROM "
		"events GROUP BY name' --then 'SELECT sum(n) FROM rows'\n"
		"  $ yore sql fixtures/golden/sched-demo 'SELECT name, count(*) FROM events GROUP "
		"BY name'\n"
		"  $ yore sql fixtures/golden/sched-demo \"SELECT ts, next_comm FROM sched_switch "
		"WHERE cpu = 0 LIMIT 3\"\n"
		"  $ yore sql fixtures/golden/sched-demo 'SELECT ts, next_comm FROM sched_switch' "
		"--follow | head -3\n"
		"  $ yore sql fixtures/golden/sched-demo 'SELECT name, count(*) FROM events GROUP "
		"BY name' --chunk 1/1 --partial /tmp/yore-sql.part\n"
		"  $ echo '.schema sched_switch' | yore sql fixtures/golden/sched-demo\n",
	.options = OPT_TRACE | OPT_FORMAT | OPT_RULES | OPT_SQL | OPT_LISTS | OPT_FOLLOW |
		   OPT_PARTIALS | OPT_SLURM,
	.own = own_options,
	.own_bytes = sizeof(struct sql_choices),
	.words = WORD_FILE,
	.max_words = -1,
	.run = run_sql,
};
