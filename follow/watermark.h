/*
 * watermark.h - computes watermarks of streams: before a stream's watermark, no event of it comes
 * any more
 *
 * Read beacons first and then open the trace: then the trace has all packets before a beacon.
 */
#ifndef FOLLOW_WATERMARK_H
#define FOLLOW_WATERMARK_H

#include "index/index.h"

struct beside { /* beacons in mirrors' folders (live/beacons.h); {0}: none */
	struct mirrored *items;
	size_t count, capacity;
};

void beside_release(struct beside *beside);
void beside_add(struct beside *beside,
		const char *path);            /* path is borrowed; it may be a mirror's folder */
void beside_read(struct beside *beside);      /* reads all beacons again */
bool beside_any(const struct beside *beside); /* is one of them a mirror's? */

/*
 * The watermark of a stream: what its format says, else the end of its last complete packet or, if
 * all its packets were read, its beacon if that is later. NSTIME_MAX: the stream has ended. All
 * before `told` was reported as final (NSTIME_MIN: nothing). *reached: the stream certainly came so
 * far.
 */
nstime watermark_of(const struct beside *beside, const struct trace *trace,
		    const struct stream *stream, struct table *table, nstime told, nstime *reached);
/* The watermark of a stream without packets. */
nstime watermark_of_empty(const struct beside *beside, const struct trace *trace,
			  const struct empty_file *file);
/* Does the stream have a watermark? Streams without time have one only if no stream has a time. */
bool watermark_counts(const struct trace *trace, const struct stream *stream);
/* The byte after the record's packet. */
uint64_t watermark_end(const struct packet_info *info);

#endif
