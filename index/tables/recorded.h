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
	nstime begin; /* inclusive; NSTIME_MIN: it holds from the start, or has no packet */
	nstime end;   /* inclusive: the last moment that a packet covers; NSTIME_MIN: no packet */
	bool ended;   /* after `end` nothing was recorded; false: that is not known */
};

/* Of one stream: the first call reads its first record and the last ones, later ones nothing. */
MUST_CHECK bool stream_recorded(struct index *index, const struct stream *stream,
				struct recorded *out, struct error *err);
/*
 * From the first moment that any stream with times covers to the last, both inclusive; *begin >
 * *end: there is no packet. In a trace without any time they are ordinals. The first call reads the
 * records of all streams, later ones nothing.
 */
MUST_CHECK bool index_recorded(struct index *index, nstime *begin, nstime *end, struct error *err);

#endif
