/*
 * fuzz_partial.c - reads any bytes as a partial file: an error, or groups that can be written again
 *
 *     byte 0 even   the rest is a file, unchanged
 *     byte 0 odd    the rest is a file whose size and checksum are corrected
 *
 * Promises: an error names the file in one line; joined groups can be written and read again, and
 * are as many then.
 *
 * With replay.c it is a plain program that reads files.
 */
#include "aggregate/partial.h"
#include "engine/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 88, CHECK = 8, MOST = 1000 };

static const struct aggregate aggregates[] = {
	{.kind = AGGREGATE_COUNT}, {.kind = AGGREGATE_SUM}, {.kind = AGGREGATE_MIN},
	{.kind = AGGREGATE_MAX},   {.kind = AGGREGATE_SUM}, {.kind = AGGREGATE_LOG2, .bits = 1},
	{.kind = AGGREGATE_VALUE},
};

static void require(bool promise)
{
	if (!promise)
		abort();
}

static struct groups no_groups(unsigned nkeys, unsigned first, unsigned naggregates)
{
	return (struct groups){.nkeys = nkeys,
			       .naggregates = naggregates,
			       .aggregates = aggregates + first,
			       .most = MOST};
}

/* Reads the groups of one form in the body, writes them, and reads them again. */
static void take(const struct partial *partial, unsigned nkeys, unsigned first, unsigned count)
{
	struct groups groups = no_groups(nkeys, first, count), again = groups;
	struct cursor body = cursor_over(buf_text(&partial->body), partial->body.len);
	struct buf bytes = {0};

	(void)!partial_take_groups(&body, &groups);
	require(groups.count <= MOST && body.pos <= body.size);
	partial_add_groups(&bytes, &groups);
	body = cursor_over(bytes.data, bytes.len);
	require(partial_take_groups(&body, &again) == PARTIAL_TAKEN && body.pos == body.size);
	require(groups.count == again.count);
	groups_clear(&groups);
	groups_clear(&again);
	buf_release(&bytes);
}

static void make_right(uint8_t *bytes, size_t size)
{
	uint64_t whole = size, sum;

	if (size < HEAD + CHECK)
		return;
	memcpy(bytes, "yorepart\1\0\0\0", 12);
	memcpy(bytes + 16, &whole, sizeof whole);
	sum = XXH3_64bits(bytes, size - CHECK);
	memcpy(bytes + size - CHECK, &sum, sizeof sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct partial partial;
	struct error err;

	if (!size)
		return 0;
	uint8_t *bytes = mem_new(size);
	memcpy(bytes, data + 1, size - 1);
	if (data[0] & 1)
		make_right(bytes, size - 1);
	if (!partial_parse("NAME", bytes, size - 1, &partial, &err)) {
		require(!strncmp(err.text, "NAME: ", 6) && !strchr(err.text, '\n'));
	} else {
		take(&partial, 2, 0, 5);
		take(&partial, 1, 5, 1);
		take(&partial, 1, 6, 1);
		partial_release(&partial);
	}
	mem_free(bytes);
	return 0;
}
