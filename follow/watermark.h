/*
 * watermark.h - how far a trace that is written has come: before a stream's watermark, nothing of
 * it comes any more
 *
 * What stands beside a trace is read first, then the trace is opened: so all that it stands for is
 * in what was opened.
 */
#ifndef FOLLOW_WATERMARK_H
#define FOLLOW_WATERMARK_H

#include "index/index.h"

struct beside { /* what mirrors' folders say of idle streams: live/beacons.h; {0}: none is known */
	struct mirrored *items;
	size_t count, capacity;
};

void beside_release(struct beside *beside);
void beside_add(struct beside *beside,
		const char *path);            /* borrowed; it may be a mirror's folder */
void beside_read(struct beside *beside);      /* as it is now */
bool beside_any(const struct beside *beside); /* one of them is a mirror's */

/*
 * The one place where a stream's watermark comes from: what its format tells, else where its last
 * whole packet ends, or, where all of them were read, up to when a relay says that it has nothing.
 * NSTIME_MAX: it is over. All before `told` was told, NSTIME_MIN: nothing. *reached is what the
 * stream has certainly come to.
 */
nstime watermark_of(const struct beside *beside, const struct trace *trace,
		    const struct stream *stream, struct table *table, nstime told, nstime *reached);
/* Of a stream that has brought nothing. */
nstime watermark_of_empty(const struct beside *beside, const struct trace *trace,
			  const struct empty_file *file);
/* Only streams that have a time have a watermark, unless none has a time. */
bool watermark_counts(const struct trace *trace, const struct stream *stream);
/* Behind which byte a record ends. */
uint64_t watermark_end(const struct packet_info *info);

#endif
