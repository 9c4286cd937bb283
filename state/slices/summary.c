/*
 * summary.c - see summary.h
 *
 * Varints, per attribute: difference to the last attribute, number of values, then per value kind,
 * number (zigzag), count, time; then count and time of all others.
 */
#include "state/slices/summary.h"

#include "state/slices/bits.h"

static struct summary_value *find(struct summary *summary, struct slice_value value)
{
	for (uint32_t i = 0; i < summary->nvalues; i++)
		if (summary->values[i].value.number == value.number &&
		    summary->values[i].value.kind == value.kind)
			return &summary->values[i];
	if (summary->nvalues == SUMMARY_VALUES)
		return NULL;
	summary->values[summary->nvalues] = (struct summary_value){.value = value};
	return &summary->values[summary->nvalues++];
}

static void count(struct summary *summary, struct slice_value value, uint64_t time)
{
	struct summary_value *one = find(summary, value);

	if (one) {
		one->count++;
		one->time += time;
	} else {
		summary->other_count++;
		summary->other_time += time;
	}
}

static void put_one(const struct summary *summary, uint32_t last, struct buf *out)
{
	buf_add_varint(out, summary->attr - last);
	buf_add_varint(out, summary->nvalues);
	for (uint32_t i = 0; i < summary->nvalues; i++) {
		buf_add_varint(out, summary->values[i].value.kind);
		buf_add_varint(out, zigzag(summary->values[i].value.number));
		buf_add_varint(out, summary->values[i].count);
		buf_add_varint(out, summary->values[i].time);
	}
	buf_add_varint(out, summary->other_count);
	buf_add_varint(out, summary->other_time);
}

void summary_put(const struct slice_parts *parts, struct buf *out)
{
	const struct slice_column *changes = &parts->changes;
	uint64_t mask = bits_mask(parts->tick_bits);
	uint32_t last = 0;
	size_t next;

	for (size_t at = 0; at < changes->count; at = next) {
		struct summary summary = {
			.attr = (uint32_t)(changes->keys[at] >> parts->tick_bits)};

		for (next = at + 1; next < changes->count &&
				    changes->keys[next] >> parts->tick_bits == summary.attr;)
			next++;
		if (next - at < SUMMARY_LEAST)
			continue;
		for (size_t i = at; i < next; i++) {
			uint64_t begin = (uint64_t)parts->ticks[changes->keys[i] & mask];
			uint64_t end =
				(uint64_t)(i + 1 < next ? parts->ticks[changes->keys[i + 1] & mask]
							: parts->ticks[parts->nticks - 1]);

			count(&summary,
			      (struct slice_value){changes->numbers[i], changes->kinds[i]},
			      end - begin);
		}
		put_one(&summary, last, out);
		last = summary.attr;
	}
}

static const uint8_t *get_value(const uint8_t *at, const uint8_t *end, struct summary_value *out)
{
	uint64_t kind, number = 0;

	at = varint_get(at, end, &kind);
	at = at ? varint_get(at, end, &number) : NULL;
	at = at ? varint_get(at, end, &out->count) : NULL;
	at = at ? varint_get(at, end, &out->time) : NULL;
	if (!at || kind > SLICE_UINT)
		return NULL;
	out->value = (struct slice_value){unzigzag(number), (uint8_t)kind};
	return at;
}

bool summary_next(struct bytes bytes, size_t *place, struct summary *out)
{
	const uint8_t *at = bytes.data + *place, *end = bytes.data + bytes.size;
	uint32_t last = *place ? out->attr : 0;
	uint64_t attr, nvalues = 0;

	if (at >= end)
		return false;
	at = varint_get(at, end, &attr);
	at = at ? varint_get(at, end, &nvalues) : NULL;
	if (!at || nvalues > SUMMARY_VALUES || attr > UINT32_MAX - last)
		return false;
	*out = (struct summary){.attr = last + (uint32_t)attr, .nvalues = (uint32_t)nvalues};
	for (uint32_t i = 0; i < nvalues && at; i++)
		at = get_value(at, end, &out->values[i]);
	at = at ? varint_get(at, end, &out->other_count) : NULL;
	at = at ? varint_get(at, end, &out->other_time) : NULL;
	*place = at ? (size_t)(at - bytes.data) : bytes.size;
	return at != NULL;
}
