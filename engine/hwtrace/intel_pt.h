/* intel_pt.h - the packets of an Intel Processor Trace, with the time that each is known to follow
 */
#ifndef ENGINE_HWTRACE_INTEL_PT_H
#define ENGINE_HWTRACE_INTEL_PT_H

#include "engine/reader.h"

enum { PT_TEXT_MAX = 64 };

struct pt_row {
	uint64_t at, size;      /* bytes, counted as `begin` is */
	const char *name;       /* "tip.pge"; "skipped": bytes that are no packets */
	char text[PT_TEXT_MAX]; /* the payload: "ipc 3 ip 0x401000" */
	bool damaged;           /* skipped, and not because nothing says yet where packets begin */
	bool has_tsc;
	uint64_t tsc; /* of the latest TSC packet; none since bytes were skipped */
};

struct intel_pt;

/*
 * Reads [begin, end) of `source`, which is borrowed, as one stream. It begins at the first PSB;
 * after bytes that are no packet it goes on at the next PSB. The caller ends it with
 * intel_pt_close().
 */
struct intel_pt *intel_pt_open(struct source *source, uint64_t begin, uint64_t end);
void intel_pt_close(struct intel_pt *pt); /* NULL is fine */
/* All bytes are in one row each. STEP_ERROR: they cannot be read. */
MUST_CHECK enum step intel_pt_next(struct intel_pt *pt, struct pt_row *out, struct error *err);

/* The recorder's clock, nanoseconds; false when the recorder left no conversion. */
bool intel_pt_time(const struct aux_kind *kind, uint64_t tsc, uint64_t *out);

#endif
