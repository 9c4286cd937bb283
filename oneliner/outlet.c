/* outlet.c - see outlet.h */
#include "oneliner/outlet.h"

#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "oneliner/format.h"

#include <string.h>

enum { HEAD_WIDTH = 16, COUNT_WIDTH = 8, BAR_WIDTH = 52 };

void outlet_release(struct outlet *outlet)
{
	buf_release(&outlet->text);
}

static void send(struct outlet *outlet)
{
	struct buf *text = &outlet->text;

	if (text->len && !outlet->closed)
		outlet->closed = !outlet->write(outlet->arg, text->data, text->len);
	buf_clear(text);
}

void outlet_text(struct outlet *outlet, const char *type, const struct buf *text)
{
	struct buf *out = &outlet->text;

	if (!outlet->json) {
		buf_add(out, buf_text(text), text->len);
	} else {
		buf_printf(out, "{\"type\": \"%s\", \"data\": ", type);
		quote_json(out, buf_text(text), text->len);
		buf_add_text(out, "}\n");
	}
	send(outlet);
}

void outlet_value(struct outlet *outlet, const struct value *value)
{
	struct buf *out = &outlet->text;

	if (outlet->json)
		buf_add_text(out, "{\"type\": \"value\", \"data\": ");
	if (outlet->json)
		value_add_json(value, out);
	else
		value_write(value, out);
	buf_add_text(out, outlet->json ? "}\n" : "\n");
	send(outlet);
}

/* ---- histograms ---- */

static void outlet_put_number(struct buf *out, __int128 number)
{
	const int64_t unit = INT64_C(1000000000000000000);
	char text[64], *end = text;
	bool negative = number < 0;
	unsigned __int128 rest = negative ? -(unsigned __int128)number : (unsigned __int128)number;

	if (negative)
		buf_add_char(out, '-');
	if (rest / (uint64_t)unit) {
		outlet_put_number(out, (__int128)(rest / (uint64_t)unit));
		end = decimal_put(text, (uint64_t)(rest % (uint64_t)unit) + (uint64_t)unit);
		buf_add(out, text + 1, (size_t)(end - text) - 1);
		return;
	}
	end = decimal_put(text, (uint64_t)rest);
	buf_add(out, text, (size_t)(end - text));
}

/* A bucket's bound as 512, 1K or 4M: multiples of 1024; of lhist() if its step is one, too. */
static void outlet_put_label(struct buf *out, const struct map_use *use, __int128 number)
{
	bool is_power = use->of.kind == AGGREGATE_LOG2;
	size_t decade = 0;

	while (is_power && decade < 6 && number >= 1024 && number % 1024 == 0) {
		number /= 1024;
		decade++;
	}
	while (!is_power && decade < 2 && use->of.step % 1024 == 0 && number &&
	       number % 1024 == 0) {
		number /= 1024;
		decade++;
	}
	outlet_put_number(out, number);
	if (decade)
		buf_add(out, &"\0KMGTPE"[decade], 1);
}

static void put_range(struct buf *out, const struct map_use *use, const struct bucket *bucket)
{
	if (bucket->has_low && bucket->has_high && bucket->high == bucket->low + 1) {
		buf_add_char(out, '[');
		outlet_put_label(out, use, bucket->low);
		buf_add_char(out, ']');
		return;
	}
	buf_add_text(out, bucket->has_low ? "[" : "(..., ");
	if (bucket->has_low) {
		outlet_put_label(out, use, bucket->low);
		buf_add_text(out, ", ");
	}
	if (bucket->has_high)
		outlet_put_label(out, use, bucket->high);
	else
		buf_add_text(out, "...");
	buf_add_char(out, ')');
}

static void text_bucket(struct buf *out, const struct map_use *use, const struct bucket *bucket,
			uint64_t most)
{
	size_t from = out->len;
	int bar = (int)((float)bucket->count / (float)most * BAR_WIDTH);
	char count[NUMBER_ROOM];
	size_t ncount = (size_t)(decimal_put(count, bucket->count) - count);

	put_range(out, use, bucket);
	while (out->len - from < HEAD_WIDTH + (ncount < COUNT_WIDTH ? COUNT_WIDTH - ncount : 0))
		buf_add_char(out, ' ');
	buf_add(out, count, ncount);
	buf_add_text(out, " |");
	for (int i = 0; i < BAR_WIDTH; i++)
		buf_add_char(out, i < bar ? '@' : ' ');
	buf_add_text(out, "|\n");
}

static void json_bucket(struct buf *out, const struct bucket *bucket)
{
	buf_add_char(out, '{');
	if (bucket->has_low) {
		buf_add_text(out, "\"min\": ");
		outlet_put_number(out, bucket->low);
		buf_add_text(out, ", ");
	}
	if (bucket->has_high) {
		buf_add_text(out, "\"max\": ");
		outlet_put_number(out, bucket->high - 1);
		buf_add_text(out, ", ");
	}
	buf_printf(out, "\"count\": %llu}", (unsigned long long)bucket->count);
}

/* Writes the buckets from the first to the last that is not empty. */
static void put_buckets(struct buf *out, bool json, const struct map *map,
			const struct group *entry, uint64_t by)
{
	const struct accumulator *total = &entry->totals[0];
	uint32_t end, first = accumulator_buckets(&map->use->of, total, &end);
	uint64_t most = 1;

	by = map->use->of.kind == AGGREGATE_LOG2 && by ? by : 1;
	for (uint32_t i = first; i < end; i++)
		most = total->buckets[i] / by > most ? total->buckets[i] / by : most;
	if (json)
		buf_add_char(out, '[');
	for (uint32_t i = first; i < end; i++) {
		struct bucket bucket = accumulator_bucket(&map->use->of, total, i);
		bucket.count /= by;
		if (json && i > first)
			buf_add_char(out, ',');
		if (json)
			json_bucket(out, &bucket);
		else
			text_bucket(out, map->use, &bucket, most);
	}
	if (json)
		buf_add_char(out, ']');
}

/* ---- maps ---- */

static void put_stats(struct buf *out, bool json, const struct accumulator *total, uint64_t by)
{
	buf_printf(out, json ? "{\"count\": %llu, \"average\": " : "count %llu, average ",
		   (unsigned long long)total->count);
	outlet_put_number(out, total->count ? total->number / total->count / by : 0);
	buf_add_text(out, json ? ", \"total\": " : ", total ");
	outlet_put_number(out, total->number / by);
	if (json)
		buf_add_char(out, '}');
}

static void outlet_put_value(struct buf *out, bool json, const struct map *map,
			     const struct group *entry, uint64_t by)
{
	struct value value = entry_value(map, entry);
	const struct accumulator *total = &entry->totals[0];

	by = by ? by : 1;
	if (map_is_hist(map->use)) {
		put_buckets(out, json, map, entry, by);
	} else if (map_is(map->use, FUNCTION_STATS)) {
		put_stats(out, json, total, by);
	} else if (map_is(map->use, FUNCTION_SUM)) {
		outlet_put_number(out, total->number / by);
	} else if (value.kind == VALUE_INT) {
		outlet_put_number(out, value_integer(&value) / by);
	} else if (json) {
		value_add_json(&value, out);
	} else {
		value_write(&value, out);
	}
}

static void put_keys(struct buf *out, const struct map *map, const struct group *entry,
		     const char *separator)
{
	for (uint32_t i = 0; i < map->use->nkeys; i++) {
		if (i)
			buf_add_text(out, separator);
		value_write(&entry->keys[i], out);
	}
}

static void text_entry(struct buf *out, const struct map *map, const struct group *entry,
		       uint64_t by)
{
	buf_add_text(out, map->use->name);
	if (map->use->nkeys) {
		buf_add_char(out, '[');
		put_keys(out, map, entry, ", ");
		buf_add_char(out, ']');
	}
	buf_add_text(out, map_is_hist(map->use) ? ":\n" : ": ");
	outlet_put_value(out, false, map, entry, by);
	buf_add_char(out, '\n');
}

static void json_entry(struct buf *out, const struct map *map, const struct group *entry,
		       uint64_t by)
{
	struct buf key = {0};

	if (map->use->nkeys) {
		put_keys(&key, map, entry, ",");
		quote_json(out, buf_text(&key), key.len);
		buf_add_text(out, ": ");
	}
	outlet_put_value(out, true, map, entry, by);
	buf_release(&key);
}

static void json_begin(struct buf *out, const struct map_use *use)
{
	bool averages = map_is(use, FUNCTION_AVG) || map_is(use, FUNCTION_STATS);

	buf_printf(out, "{\"type\": \"%s\", \"data\": {",
		   map_is_hist(use) ? "hist"
		   : averages       ? "stats"
				    : "map");
	quote_json(out, use->name, strlen(use->name));
	buf_add_text(out, use->nkeys ? ": {" : ": ");
}

static void json_end(struct buf *out, const struct map_use *use)
{
	buf_add_text(out, use->nkeys ? "}}}\n" : "}}\n");
}

void outlet_map(struct outlet *outlet, const struct map *map, size_t top, uint64_t by)
{
	struct buf *out = &outlet->text;
	struct group **entries;
	size_t count, first;

	if (!map->groups.count)
		return;
	entries = map_sorted(map, &count);
	first = top && top < count ? count - top : 0;
	if (outlet->json)
		json_begin(out, map->use);
	for (size_t i = first; i < count && !outlet->closed; i++) {
		if (outlet->json && i > first)
			buf_add_text(out, ", ");
		if (outlet->json)
			json_entry(out, map, entries[i], by);
		else
			text_entry(out, map, entries[i], by);
		if (!outlet->json)
			send(outlet);
	}
	if (outlet->json)
		json_end(out, map->use);
	send(outlet);
	mem_free(entries);
}

void outlet_entry(struct outlet *outlet, const struct map *map, const struct group *entry)
{
	struct buf *out = &outlet->text;

	if (outlet->json) {
		json_begin(out, map->use);
		json_entry(out, map, entry, 1);
		json_end(out, map->use);
	} else {
		text_entry(out, map, entry, 1);
	}
	send(outlet);
}
