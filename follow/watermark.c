/* watermark.c - see watermark.h */
#include "follow/watermark.h"

#include "engine/base/mem.h"
#include "live/beacons.h"

#include <string.h>

struct mirrored { /* a path that may be a mirror's folder */
	const char *path;
	struct beacons *beacons; /* NULL: no mirror's folder */
};

void beside_release(struct beside *beside)
{
	for (size_t i = 0; i < beside->count; i++)
		beacons_close(beside->items[i].beacons);
	mem_free(beside->items);
}

void beside_add(struct beside *beside, const char *path)
{
	*mem_push(beside->items, beside->count, beside->capacity) = (struct mirrored){.path = path};
}

void beside_read(struct beside *beside)
{
	for (size_t i = 0; i < beside->count; i++) {
		beacons_close(beside->items[i].beacons);
		beside->items[i].beacons = beacons_read(beside->items[i].path);
	}
}

bool beside_any(const struct beside *beside)
{
	for (size_t i = 0; i < beside->count; i++)
		if (beside->items[i].beacons)
			return true;
	return false;
}

/* The beacon of the stream with this file, as a time of the clock; NSTIME_MIN: none. */
static nstime beacon_of(const struct beside *beside, const struct trace *trace, const char *file,
			int32_t clock)
{
	uint64_t cycles;

	for (size_t i = 0; i < beside->count; i++) {
		const struct mirrored *mirror = &beside->items[i];
		size_t above = strlen(mirror->path);
		if (!mirror->beacons || strncmp(file, mirror->path, above) != 0)
			continue;
		above += strspn(file + above, "/");
		if (!beacons_find(mirror->beacons, file + above, &cycles))
			continue;
		if (cycles == BEACON_OVER)
			return NSTIME_MAX;
		return clock < 0 ? NSTIME_MIN
				 : timebase_to_ns_clamped(&trace->clocks[clock].base, cycles);
	}
	return NSTIME_MIN;
}

/* The last record with this session's own events; false: none. */
static bool last_record(struct table *table, struct packet *out)
{
	const uint32_t none = PACKET_BEFORE_ALL | PACKET_DOUBLED | PACKET_OTHER;
	struct error ignored;

	for (uint64_t i = table_count(table); i-- > 0;)
		if (table_listed(table, i, out, &ignored) && !(out->flags & none))
			return true;
	return false;
}

uint64_t watermark_end(const struct packet_info *info)
{
	return info->rec.off + packet_bytes(info);
}

/*
 * Does the last file end with the last record? Else packets may follow whose events are not
 * described yet.
 */
static bool is_read_whole(const struct stream *stream, struct table *table)
{
	uint64_t count = table_count(table);
	struct packet_info info;
	struct error ignored;

	if (!count || !stream->nsources || !table_get(table, count - 1, &info, &ignored))
		return false;
	uint32_t source = info.rec.source % stream->nsources;
	return source + 1 == stream->nsources &&
	       watermark_end(&info) >= source_size(stream->sources[source]);
}

/*
 * For streams whose packets may come late: the end of the last packet before the first missing
 * sequence number after `told`. A missing packet that comes within the patience still counts; later
 * it is lost.
 */
static nstime end_of_numbered(const struct stream *stream, struct table *table, nstime told)
{
	nstime until = NSTIME_MIN;
	struct packet rec, behind = {.seq = PACKET_NONE};
	struct error ignored;

	for (uint64_t i = table_count(table); i-- > 0 && table_listed(table, i, &rec, &ignored);) {
		if (rec.flags & (PACKET_BEFORE_ALL | PACKET_DOUBLED | PACKET_OTHER))
			continue;
		if (rec.seq == PACKET_NONE || !stream->seq_bits)
			return NSTIME_MIN; /* without numbers gaps are unknown */
		if (behind.seq == PACKET_NONE ||
		    packet_steps(rec.seq, behind.seq, stream->seq_bits) != 1)
			until = rec.max;
		if (rec.min <= told) /* gaps before it were given up */
			break;
		behind = rec;
	}
	return until;
}

nstime watermark_of(const struct beside *beside, const struct trace *trace,
		    const struct stream *stream, struct table *table, nstime told, nstime *reached)
{
	struct packet last;
	nstime until;
	bool any = last_record(table, &last);

	*reached = any ? last.max : NSTIME_MIN;
	if (any && stream->may_be_late)
		return end_of_numbered(stream, table, told);
	if (trace_watermark(trace, stream, &until)) {
		if (until != NSTIME_MAX)
			*reached = until;
		return until;
	}
	until = *reached;
	if (!beside_any(beside) || !is_read_whole(stream, table))
		return until;
	for (uint32_t i = 0; i < stream->nsources; i++) {
		const char *file = source_name(stream->sources[i]);
		nstime beacon = beacon_of(beside, trace, file, stream->clock);
		until = beacon > until ? beacon : until;
	}
	return until;
}

nstime watermark_of_empty(const struct beside *beside, const struct trace *trace,
			  const struct empty_file *file)
{
	return beacon_of(beside, trace, file->path, file->clock);
}

bool watermark_counts(const struct trace *trace, const struct stream *stream)
{
	return stream->has_time || trace_has_ordinals(trace);
}
