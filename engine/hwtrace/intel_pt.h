/* intel_pt.h - the packets of an Intel Processor Trace, each with the time of the last TSC packet
 */
#ifndef ENGINE_HWTRACE_INTEL_PT_H
#define ENGINE_HWTRACE_INTEL_PT_H

#include "engine/reader.h"

enum { PT_TEXT_MAX = 64 };

struct pt_row {
	uint64_t at, size;      /* bytes; `at` is an offset in the source */
	const char *name;       /* "tip.pge"; "skipped": bytes that are no packets */
	char text[PT_TEXT_MAX]; /* the payload: "ipc 3 ip 0x401000" */
	bool damaged;           /* skipped bytes that are not those in front of the first PSB */
	bool has_tsc;
	uint64_t tsc; /* of the latest TSC packet since bytes were last skipped, if has_tsc */
};

struct intel_pt;

/*
 * Reads bytes [begin, end) of `source`, which is borrowed, as one stream of packets. The first
 * packet is the first PSB; after bytes that are no packet, decoding continues at the next PSB. The
 * caller frees it with intel_pt_close().
 */
struct intel_pt *intel_pt_open(struct source *source, uint64_t begin, uint64_t end);
void intel_pt_close(struct intel_pt *pt); /* NULL is fine */
/* Returns the next packet, or run of skipped bytes: rows cover all. STEP_ERROR: a read failed. */
MUST_CHECK enum step intel_pt_next(struct intel_pt *pt, struct pt_row *out, struct error *err);

/* Converts a TSC value to ns of the recorder's clock; false: the trace has no conversion. */
bool intel_pt_time(const struct aux_kind *kind, uint64_t tsc, uint64_t *out);

#endif
