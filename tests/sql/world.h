/* world.h - a generated trace with its index and an SQL connection, for the tests of sql/ */
#ifndef TESTS_SQL_WORLD_H
#define TESTS_SQL_WORLD_H

#include "engine/base/buf.h"
#include "sql/sql.h"
#include "state/rules/rules.h"

struct world {
	struct trace *trace;
	struct index *index;
	struct rules *rules;
	struct state *state;
	struct sql *sql;
};

/* Opens a trace with an index in memory, so that nothing is known from earlier runs. */
void world_open(struct world *world, const char *path);
void world_close(struct world *world);

struct answer_text {
	char **lines; /* one row each, cells separated by | */
	size_t count, capacity;
	char *head;               /* names of the columns; NULL: the statement has errors */
	uint64_t steps;           /* steps of SQLite's virtual machine */
	uint64_t events, packets; /* decoded for it */
	struct error err;         /* ERR_NONE: no error */
};
void world_ask(struct world *world, const char *query, struct answer_text *out);
void answer_sort(struct answer_text *answer);
void answer_release(struct answer_text *answer);
/*
 * Fails the test unless the answers are equal; the message has the query and the first difference.
 */
void answers_same(const char *query, const struct answer_text *a, const struct answer_text *b);

/* The folder of a generated trace, made once: 4 CPUs, packets of 4 KB. */
const char *world_generated(void);
int world_teardown(void **state); /* for a group of tests: deletes the folder */

#endif
