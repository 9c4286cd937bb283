/* cmd_sql.c - questions in SQL */
#include "repl/commands/cmds.h"
#include "repl/commands/following.h"
#include "repl/commands/sql_shell.h"

#include <string.h>
#include <unistd.h>

static bool run_sql(struct session *session, const struct options *options, struct sink *sink,
		    struct error *err)
{
	if (!follow_words(options, err))
		return false;
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
		"Examples:\n"
		"  $ yore sql fixtures/golden/sched-demo 'SELECT name, count(*) FROM events GROUP "
		"BY name'\n"
		"  $ yore sql fixtures/golden/sched-demo \"SELECT ts, next_comm FROM sched_switch "
		"WHERE cpu = 0 LIMIT 3\"\n"
		"  $ yore sql fixtures/golden/sched-demo 'SELECT ts, next_comm FROM sched_switch' "
		"--follow | head -3\n"
		"  $ echo '.schema sched_switch' | yore sql fixtures/golden/sched-demo\n",
	.options = OPT_TRACE | OPT_FORMAT | OPT_RULES | OPT_SQL | OPT_LISTS | OPT_FOLLOW,
	.words = WORD_FILE,
	.max_words = -1,
	.run = run_sql,
};
