/* held.c - see held.h */
#include "oneliner/held.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"

enum { CPUS_MAX = 4096 };

struct held_values {
	struct held {
		nstime from, until;
		struct value value; /* VALUE_UNKNOWN: none */
		struct buf text;
	} * items; /* by CPU */
	size_t count;
};

struct held_values *held_values_new(void)
{
	return mem_new(sizeof(struct held_values));
}

void held_values_free(struct held_values *held)
{
	if (!held)
		return;
	for (size_t i = 0; i < held->count; i++)
		buf_release(&held->items[i].text);
	mem_free(held->items);
	mem_free(held);
}

const struct value *held_find(const struct held_values *held, int32_t cpu, nstime t)
{
	const struct held *item;

	if (cpu < 0 || (size_t)cpu >= held->count)
		return NULL;
	item = &held->items[cpu];
	return value_exists(&item->value) && t >= item->from && t <= item->until ? &item->value
										 : NULL;
}

void held_set(struct held_values *held, int32_t cpu, nstime from, nstime until,
	      const struct value *value)
{
	if (cpu < 0 || cpu >= CPUS_MAX)
		return;
	held->items = mem_reach(held->items, (size_t)cpu, &held->count, sizeof *held->items);
	struct held *item = &held->items[cpu];
	item->from = from;
	item->until = until;
	item->value = *value;
	if (!value_exists(value))
		item->value.kind = VALUE_UNKNOWN;
	if (value->kind != VALUE_STRING)
		return;
	buf_clear(&item->text);
	buf_add(&item->text, value->text, value->len);
	item->value.text = item->text.data;
}
