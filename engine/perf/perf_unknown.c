/*
 * perf_unknown.c - warnings of data that only a kernel or perf newer than this reader writes
 *
 *     bits of sample_type, branch_sample_type,   add items of unknown size to a sample: the bytes
 *     read_format                                from there on are its member `unread`
 *     flags and bytes of an attribute            may change what records mean
 *     records of the kernel                      are events with their bytes
 *     records of perf's own, features            are skipped
 *     bytes behind a sample's last item          are left out; perf_decode.c warns of them
 *
 * Each kind is one warning of kind ERR_UNKNOWN, with its count and its first place.
 */
#include "engine/perf/perf_internal.h"

#include "engine/base/mem.h"

#include <inttypes.h>
#include <stdio.h>

/* One kind of bits of attributes. */
struct kind {
	const char *name, *means;
	bool is_place; /* `bits` is the offset of the first unknown byte */
	uint64_t bits; /* unknown bits of all attributes */
	size_t count;  /* attributes with unknown bits */
	const struct perf_attr *first;
};

static void add_bits(struct kind *kind, const struct perf_attr *attr, uint64_t bits)
{
	if (!bits)
		return;
	kind->bits = kind->is_place && kind->count ? kind->bits : kind->bits | bits;
	if (!kind->count++)
		kind->first = attr;
}

static void tell_kind(const struct perf_part *part, const struct kind *kind)
{
	const char *file = part->sources[0].name;
	char bits[64];
	struct error text;

	if (!kind->count)
		return;
	if (kind->is_place)
		snprintf(bits, sizeof bits, "byte %" PRIu64 " is not zero", kind->bits);
	else
		snprintf(bits, sizeof bits, "bits 0x%" PRIx64, kind->bits);
	error_set(&text, ERR_UNKNOWN,
		  "%s: %s of %zu event%s, first %s by the attribute at offset %" PRIu64
		  ": %s: not known; %s",
		  file, kind->name, kind->count, kind->count == 1 ? "" : "s", kind->first->name,
		  kind->first->off, bits, kind->means);
	trace_damage(part->trace, "", &text);
}

static void tell_attributes(const struct perf_part *part)
{
	static const char unread[] = "what a record has from there on is its member `unread`";
	static const char meaning[] = "records may mean something else than they seem to";
	struct kind kinds[] = {{.name = "sample_type", .means = unread},
			       {.name = "branch_sample_type", .means = unread},
			       {.name = "read_format", .means = unread},
			       {.name = "flags", .means = meaning},
			       {.name = "attribute", .means = meaning, .is_place = true}};

	for (size_t i = 0; i < part->nattrs; i++) {
		const struct perf_attr *attr = part->attrs[i];
		bool branches = attr->sample_type & SAMPLE_BRANCH_STACK;

		add_bits(&kinds[0], attr, attr->sample_type & ~(uint64_t)SAMPLE_KNOWN);
		add_bits(&kinds[1], attr, branches ? attr->branch_sample_type & ~BRANCH_KNOWN : 0);
		add_bits(&kinds[2], attr, attr->read_format & ~(uint64_t)READ_KNOWN);
		add_bits(&kinds[3], attr, attr->flags & ~ATTR_FLAGS_KNOWN);
		add_bits(&kinds[4], attr, attr->tail);
	}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		tell_kind(part, &kinds[i]);
}

void perf_tell_unknown(struct perf_part *part)
{
	struct error text;

	tell_attributes(part);
	if (!part->unknown_features)
		return;
	error_set(&text, ERR_UNKNOWN,
		  "%s: the header has %u feature%s not known, the first is number %u at "
		  "offset %" PRIu64 ": passed over",
		  part->sources[0].name, part->unknown_features,
		  part->unknown_features == 1 ? " that is" : "s that are", part->unknown_feature,
		  part->unknown_feature_off);
	trace_damage(part->trace, "", &text);
}

/* Each type below PERF_TOOL_TYPES is a kind of its own; all types from there on are one. */
static bool same_kind(const struct perf_unread *unread, uint32_t type)
{
	const uint32_t first = unread->type;

	return first == type || (first >= PERF_TOOL_TYPES && type >= PERF_TOOL_TYPES);
}

void perf_note_unread(struct perf_unread_list *list, uint32_t type, uint32_t source, uint64_t off)
{
	for (size_t i = 0; i < list->count; i++)
		if (same_kind(&list->items[i], type)) {
			list->items[i].count++;
			list->items[i].more |= list->items[i].type != type;
			return;
		}
	*mem_push(list->items, list->count, list->capacity) =
		(struct perf_unread){.type = type, .count = 1, .off = off, .source = source};
}

void perf_unread_text(const struct perf_part *part, const struct perf_unread *unread,
		      struct error *out)
{
	const char *file = part->sources[unread->source].name;
	const char *s = unread->count == 1 ? "" : "s";
	const uint32_t type = unread->type;

	if (type == PERF_STAT || type == PERF_SCHEDSTAT_CPU)
		error_set(out, ERR_UNKNOWN,
			  "%s: %" PRIu64 " record%s of counts of perf %s, first at offset %" PRIu64
			  ": they are not read",
			  file, unread->count, s, type == PERF_STAT ? "stat" : "sched stats",
			  unread->off);
	else if (type && type < PERF_KERNEL_TYPES)
		error_set(out, ERR_UNKNOWN,
			  "%s: %" PRIu64 " record%s of type %u, first at offset %" PRIu64
			  ": the type is not known, the bytes are events perf_%u",
			  file, unread->count, s, type, unread->off, type);
	else
		error_set(out, ERR_UNKNOWN,
			  "%s: %" PRIu64 " record%s of type %u%s, first at offset %" PRIu64
			  ": not known, passed over",
			  file, unread->count, s, type, unread->more ? " and others" : "",
			  unread->off);
}
