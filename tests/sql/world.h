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

/* A path of a trace; opened with an index in memory, so that nothing is known from before. */
void world_open(struct world *world, const char *path);
void world_close(struct world *world);

struct answer_text {
	char **lines; /* a row each, cells parted by | */
	size_t count, capacity;
	char *head;               /* names of the columns; NULL: it was not prepared */
	uint64_t steps;           /* of SQLite's machine */
	uint64_t events, packets; /* decoded for it */
	struct error err;         /* kind ERR_NONE: it was answered */
};
void world_ask(struct world *world, const char *query, struct answer_text *out);
void answer_sort(struct answer_text *answer);
void answer_release(struct answer_text *answer);
/* Fails the test when the two are not the same, saying which query and where. */
void answers_same(const char *query, const struct answer_text *a, const struct answer_text *b);

/* A folder that yore-gen filled, made once: 4 CPUs, packets of 4 KB. */
const char *world_generated(void);
int world_teardown(void **state); /* of a group of tests: removes it */

#endif
