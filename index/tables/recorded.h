/*
 * recorded.h - when the recording of a stream began and ended, from its packet records alone
 *
 * A stream begins with its first packet (CTF: that packet's timestamp_begin), first record
 * (perf.data) or first page (trace.dat). Whether it ended is known only where packets tell their
 * ends (CTF's timestamp_end): a CPU without events may as well have been idle. No stream of a trace
 * that grows has ended.
 */
#ifndef INDEX_TABLES_RECORDED_H
#define INDEX_TABLES_RECORDED_H

#include "index/index.h"

struct recorded {
	nstime begin; /* inclusive; NSTIME_MIN: its events hold from the start, or it has no packet
		       */
	nstime end;   /* inclusive: the latest end of a packet; NSTIME_MIN: there is no packet */
	bool ended;   /* nothing was recorded after `end`; false: not known */
};

/* Sets *out for one stream. The first call reads its first and last records, later calls nothing.
 */
MUST_CHECK bool stream_recorded(struct index *index, const struct stream *stream,
				struct recorded *out, struct error *err);
/*
 * The least begin and the greatest end of all streams with times, both inclusive; *begin > *end:
 * there is no packet. In a trace without any time they are ordinals. The first call reads records
 * of all streams, later calls nothing.
 */
MUST_CHECK bool index_recorded(struct index *index, nstime *begin, nstime *end, struct error *err);

#endif
