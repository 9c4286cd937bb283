/* world.c - see world.h */
#include "tests/sql/world.h"

#include "engine/base/mem.h"
#include "state/state.h"
#include "tests/harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

const char *world_generated(void)
{
	static char path[80];
	char command[512];
	const char *build = getenv("top_builddir");

	if (folder[0])
		return path;
	strcpy(folder, "/tmp/yore-sql-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/t", folder);
	snprintf(command, sizeof command,
		 "%s/fixtures/yore-gen --out %s --size 400K --packet-size 4096 --cpus 4 --contexts "
		 "--lose 0.1 --seed 7",
		 build ? build : ".", path);
	assert_int_equal(system(command), 0);
	return path;
}

int world_teardown(void **state)
{
	char command[128];

	(void)state;
	if (!folder[0])
		return 0;
	snprintf(command, sizeof command, "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
	folder[0] = '\0';
	return 0;
}

static bool give_state(void *arg, struct state **out, struct error *err)
{
	struct world *world = arg;
	struct state_options options = {.no_checkpoints = true};

	if (!world->rules) {
		world->rules = rules_new();
		assert_true(rules_add_builtin(world->rules, "linux", err));
	}
	options.rules = world->rules;
	if (!world->state && !state_open(world->index, &options, &world->state, err))
		return false;
	*out = world->state;
	return true;
}

void world_open(struct world *world, const char *path)
{
	struct trace_options trace = {.paths = &path, .npaths = 1};
	struct index_options index = {.none = true, .jobs = 3};
	struct error err = {0};

	*world = (struct world){0};
	if (!trace_open(&trace, &world->trace, &err) ||
	    !index_open(world->trace, &index, &world->index, &err))
		fail_msg("%s", err.text);
	struct sql_options options = {.index = world->index, .state = give_state, .arg = world};
	if (!sql_open(&options, &world->sql, &err))
		fail_msg("%s", err.text);
}

void world_close(struct world *world)
{
	sql_close(world->sql);
	state_close(world->state);
	rules_free(world->rules);
	index_close(world->index);
	trace_close(world->trace);
}

static void add_cell(struct buf *line, const struct sql_value *value)
{
	switch (value->kind) {
	case SQL_NULL:
		buf_add_text(line, "NULL");
		break;
	case SQL_INTEGER:
		buf_printf(line, "%" PRId64, value->integer);
		break;
	case SQL_REAL:
		buf_printf(line, "%.17g", value->real);
		break;
	case SQL_TEXT:
		buf_add_char(line, '\'');
		buf_add(line, value->bytes, value->len);
		break;
	case SQL_BLOB:
		buf_printf(line, "blob %zu", value->len);
		break;
	}
	buf_add_char(line, '|');
}

static void add_line(struct sql_statement *statement, struct answer_text *out)
{
	struct buf line = {0};

	for (size_t i = 0; i < sql_columns(statement); i++) {
		struct sql_value value;
		sql_column(statement, i, &value);
		add_cell(&line, &value);
	}
	out->lines = mem_grow(out->lines, out->count, &out->capacity, sizeof *out->lines);
	out->lines[out->count++] = mem_strdup(buf_text(&line));
	buf_release(&line);
}

static char *head_of(const struct sql_statement *statement)
{
	struct buf head = {0};

	for (size_t i = 0; i < sql_columns(statement); i++)
		buf_printf(&head, "%s|", sql_column_name(statement, i));
	return head.data ? head.data : mem_strdup("");
}

void world_ask(struct world *world, const char *query, struct answer_text *out)
{
	struct sql_statement *statement;
	enum step step;
	const char *rest;

	*out = (struct answer_text){0};
	uint64_t events = world->trace->events_decoded, packets = world->trace->packets_decoded;
	if (!sql_prepare(world->sql, query, &rest, &statement, &out->err))
		return;
	out->head = head_of(statement);
	while ((step = sql_step(statement, &out->err)) == STEP_ITEM)
		add_line(statement, out);
	if (step == STEP_END)
		out->err.kind = ERR_NONE;
	out->steps = sql_work(statement);
	out->events = world->trace->events_decoded - events;
	out->packets = world->trace->packets_decoded - packets;
	sql_finish(statement);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void answer_sort(struct answer_text *answer)
{
	if (answer->count)
		qsort(answer->lines, answer->count, sizeof *answer->lines, compare);
}

void answer_release(struct answer_text *answer)
{
	for (size_t i = 0; i < answer->count; i++)
		mem_free(answer->lines[i]);
	mem_free(answer->lines);
	mem_free(answer->head);
	*answer = (struct answer_text){0};
}

void answers_same(const char *query, const struct answer_text *a, const struct answer_text *b)
{
	if (a->err.kind != b->err.kind)
		fail_msg("%s: '%s' and '%s'", query, a->err.text, b->err.text);
	if (a->head && b->head && strcmp(a->head, b->head) != 0)
		fail_msg("%s: columns %s and %s", query, a->head, b->head);
	for (size_t i = 0; i < a->count && i < b->count; i++)
		if (strcmp(a->lines[i], b->lines[i]) != 0)
			fail_msg("%s: row %zu: %s and %s", query, i, a->lines[i], b->lines[i]);
	if (a->count != b->count)
		fail_msg("%s: %zu and %zu rows", query, a->count, b->count);
}
