/*
 * do_vtab.c - the table `do`: runs a one-liner in bpftrace's language, and has its maps as rows
 *
 *     SELECT keys, value FROM yore_do('sched_switch { @[prev_comm] = count(); }')
 *
 *     do(map, keys, value, low, high, count; hidden: program, trace, total, key1 ... key8)
 *
 *     printed text         map NULL, the text is the value
 *     a number or text     value
 *     stats()              value: the average; count, total
 *     hist(), lhist()      a row for each bucket: low <= x < high, count
 *
 * Maps are in order of their names, entries by rising value. The scan runs the program, over the
 * host's range.
 */
#include "engine/base/mem.h"
#include "oneliner/format.h"
#include "oneliner/oneliner.h"
#include "rows/row_table.h"
#include "sql/sql_internal.h"

#include <string.h>

enum {
	AT_MAP,
	AT_KEYS,
	AT_VALUE,
	AT_LOW,
	AT_HIGH,
	AT_COUNT,
	AT_PROGRAM,
	AT_TRACE,
	AT_TOTAL,
	AT_KEY, /* key1; key2 to key8 follow */
	PRINTED_MAX = 256 << 20
};

struct asked {
	struct sql_host *host;
	struct row_list *list;
	struct oneliner_question question;
	struct oneliner_result result;
	struct outlet outlet;
	size_t printed; /* bytes */
};

/* ---- the run ---- */

static const char *kept(const struct row_list *list, const void *text, size_t len)
{
	return arena_strndup(list->arena, text, len);
}

static bool keep_printed(void *arg, const char *bytes, size_t len)
{
	struct asked *asked = arg;

	asked->printed += len;
	if (asked->printed > PRINTED_MAX)
		return false;
	row_list_add(asked->list)[AT_VALUE] = value_text(kept(asked->list, bytes, len), len);
	return true;
}

static bool do_vtab_run(struct asked *asked, struct error *err)
{
	struct sql_host *host = asked->host;
	struct oneliner_question *question = &asked->question;
	struct oneliner_work work = {.question = question,
				     .index = host->index,
				     .progress = sql_host_progress,
				     .progress_arg = host,
				     .outlet = &asked->outlet,
				     .keeps = true};
	struct state *state;

	work.events.progress = host->options.progress;
	work.events.progress_arg = host->options.arg;
	if (oneliner_reads_state(question) &&
	    (!sql_host_state(host, &state, err) || !oneliner_set_state(question, state, err)))
		return false;
	sql_host_range(host, &work.events.begin, &work.events.end);
	if (!oneliner_times(host->index, work.events.begin, work.events.end, &work, err))
		return false;
	if (question->text.uses_stacks)
		work.symbols = sql_host_symbols(host);
	if (!oneliner_run(&work, &asked->result, err))
		return false;
	if (asked->printed > PRINTED_MAX)
		return error_set(err, ERR_QUERY, "the program prints more than %d MiB",
				 PRINTED_MAX >> 20);
	return true;
}

/* ---- rows ---- */

/* Like a field of an event: numbers above 2^63 - 1 keep their 64 bits. */
static void do_vtab_put_value(struct value *cell, const struct row_list *list,
			      const struct value *value)
{
	if (value->kind == VALUE_STRING)
		*cell = value_text(kept(list, value->text, value->len), value->len);
	else if (value->kind == VALUE_INT)
		cell_integer(cell, (int64_t)value->u);
}

/* Bounds of buckets and sums, which may not fit into 64 bits. */
static void do_vtab_put_number(struct value *cell, __int128 number)
{
	if (number >= INT64_MIN && number <= INT64_MAX)
		cell_integer(cell, (int64_t)number);
	else
		*cell = (struct value){.kind = VALUE_FLOAT, .f = (double)number};
}

static struct value *add(struct row_list *list, const char *name, const struct value *keys,
			 size_t nkeys)
{
	struct value *row = row_list_add(list);

	cell_text(&row[AT_MAP], name);
	for (size_t i = 0; i < nkeys; i++)
		row[AT_KEY + i] = keys[i];
	return row;
}

/* `all` is the key, or of several keys their text as `yore do` prints it. Returns how many. */
static size_t read_keys(const struct row_list *list, const struct map *map,
			const struct group *entry, struct value *keys, struct value *all)
{
	size_t count = map->use->nkeys;
	struct buf text = {0};

	*all = (struct value){0};
	for (size_t i = 0; i < count; i++) {
		do_vtab_put_value(&keys[i], list, &entry->keys[i]);
		buf_add_text(&text, i ? ", " : "");
		value_write(&entry->keys[i], &text);
	}
	if (count == 1)
		*all = keys[0];
	else if (count)
		*all = value_text(kept(list, text.data, text.len), text.len);
	buf_release(&text);
	return count;
}

static void do_vtab_add_entry(struct row_list *list, const struct map *map, const char *name,
			      const struct group *entry)
{
	const struct accumulator *total = &entry->totals[0];
	uint32_t end, first = accumulator_buckets(&map->use->of, total, &end);
	struct value value = entry_value(map, entry);
	struct value keys[PROBE_KEYS_MAX] = {0}, all;
	size_t nkeys = read_keys(list, map, entry, keys, &all);
	struct value *row;

	for (uint32_t i = first; i < end; i++) {
		struct bucket bucket = accumulator_bucket(&map->use->of, total, i);
		row = add(list, name, keys, nkeys);
		row[AT_KEYS] = all;
		if (bucket.has_low)
			do_vtab_put_number(&row[AT_LOW], bucket.low);
		if (bucket.has_high)
			do_vtab_put_number(&row[AT_HIGH], bucket.high);
		cell_integer(&row[AT_COUNT], (int64_t)bucket.count);
	}
	if (map_is_hist(map->use))
		return;
	row = add(list, name, keys, nkeys);
	row[AT_KEYS] = all;
	if (map_is(map->use, FUNCTION_STATS)) {
		cell_integer(&row[AT_COUNT], (int64_t)total->count);
		do_vtab_put_number(&row[AT_TOTAL], total->number);
	}
	if (map_is(map->use, FUNCTION_SUM))
		do_vtab_put_number(&row[AT_VALUE], total->number);
	else
		do_vtab_put_value(&row[AT_VALUE], list, &value);
}

static void add_maps(struct asked *asked)
{
	for (size_t i = 0; i < asked->result.nmaps; i++) {
		const struct map *map = &asked->result.maps[i];
		const char *name = arena_strdup(asked->list->arena, map->use->name);
		size_t count;
		struct group **entries = map_sorted(map, &count);
		for (size_t k = 0; k < count; k++)
			do_vtab_add_entry(asked->list, map, name, entries[k]);
		mem_free(entries);
	}
}

static bool do_vtab_fill(struct row_host *row_host, struct row_list *list, struct error *err)
{
	struct sql_host *host = row_host->arg;
	struct asked asked = {.host = host, .list = list};
	struct buf note = {0};
	struct times times;

	if (!list->ask->told)
		return error_set(err, ERR_QUERY, "do: the program is NULL");
	asked.outlet = (struct outlet){.write = keep_printed, .arg = &asked};
	bool good = sql_host_times(host, TIME_NS, &times, err) &&
		    oneliner_open(list->ask->told, strlen(list->ask->told), host->trace,
				  &asked.question, err);
	if (good) {
		uint32_t most = 0;
		for (size_t i = 0; i < asked.question.text.nmaps; i++)
			most = asked.question.text.maps[i].nkeys > most
				       ? asked.question.text.maps[i].nkeys
				       : most;
		list->ncolumns = AT_KEY + most;
		asked.outlet.utc = times.utc;
		good = do_vtab_run(&asked, err);
	}
	if (good)
		add_maps(&asked);
	if (good && oneliner_result_note(&asked.result, &note))
		sql_note(host, "%s", buf_text(&note));
	buf_release(&note);
	oneliner_result_release(&asked.result);
	oneliner_close(&asked.question);
	outlet_release(&asked.outlet);
	return good;
}

static const struct row_column columns[] = {
	[AT_MAP] = {"map", .type = ROW_TEXT},
	[AT_KEYS] = {"keys", .type = ROW_ANY},
	[AT_VALUE] = {"value", .type = ROW_ANY},
	[AT_LOW] = {"low", .type = ROW_INTEGER},
	[AT_HIGH] = {"high", .type = ROW_INTEGER},
	[AT_COUNT] = {"count", .type = ROW_INTEGER},
	[AT_PROGRAM] = {"program", ROW_TEXT, ROW_TOLD, ROW_ARGUMENT,
			"the program, as in yore_do('sched_switch { @ = count(); }'),", NULL},
	[AT_TRACE] = {"trace", ROW_TEXT, ROW_TRACE, .flags = ROW_ARGUMENT | ROW_OPTIONAL},
	[AT_TOTAL] = {"total", ROW_INTEGER, .flags = ROW_HIDDEN},
	[AT_KEY] = {"key1", ROW_ANY, .flags = ROW_HIDDEN},
	{"key2", ROW_ANY, .flags = ROW_HIDDEN},
	{"key3", ROW_ANY, .flags = ROW_HIDDEN},
	{"key4", ROW_ANY, .flags = ROW_HIDDEN},
	{"key5", ROW_ANY, .flags = ROW_HIDDEN},
	{"key6", ROW_ANY, .flags = ROW_HIDDEN},
	{"key7", ROW_ANY, .flags = ROW_HIDDEN},
	{"key8", ROW_ANY, .flags = ROW_HIDDEN}};
_Static_assert(sizeof columns / sizeof *columns == AT_KEY + PROBE_KEYS_MAX, "a column per key");
const struct row_table row_do = {columns, sizeof columns / sizeof *columns, .fill = do_vtab_fill};
