/*
 * sel4_internal.h - what the files of the reader of seL4's logs of kernel entries share
 *
 *     log.c         settings, event classes, the one stream
 *     record.c      bytes or lines → records
 *     lanes.c       records of a packet → lanes without overlaps
 *     sel4_decode.c packets → records → two events each: the entry, and the exit
 */
#ifndef ENGINE_SEL4_SEL4_INTERNAL_H
#define ENGINE_SEL4_SEL4_INTERNAL_H

#include "engine/reader.h"

/*
 * Entry kinds, the low four bits of a record's path byte; upstream kernels write three of them.
 * 7 is Entry_VCPUFault on ARM and Entry_VMExit on x86.
 */
enum entry_kind {
	ENTRY_INTERRUPT,
	ENTRY_UNKNOWN_SYSCALL,
	ENTRY_USER_LEVEL_FAULT,
	ENTRY_DEBUG_FAULT,
	ENTRY_VM_FAULT,
	ENTRY_SYSCALL,
	ENTRY_UNIMPLEMENTED_DEVICE,
	ENTRY_VCPU_FAULT,
	ENTRY_SWITCH,
	ENTRY_WRONG, /* any other value; the driver's text has no number for it */
	ENTRY_KINDS
};

/* Does the detail word have a core? Those of system calls and switches have no room for one. */
static inline bool entry_has_core(enum entry_kind kind)
{
	return kind < ENTRY_SYSCALL || kind == ENTRY_UNIMPLEMENTED_DEVICE ||
	       kind == ENTRY_VCPU_FAULT;
}

enum {
	RECORD_BYTES = 24,     /* of a 64-bit kernel, or a 32-bit one that aligns 64-bit numbers */
	RECORD_BYTES_32 = 20,  /* of other 32-bit kernels */
	LINE_MAX_BYTES = 4096, /* a longer line of text is damage */
	EXIT_AT_BINARY = 8,    /* place of the exit event in a record: that of the duration */
	EXIT_AT_TEXT = 1
};

struct sel4_record {
	uint64_t start;    /* ticks */
	uint32_t duration; /* ticks */
	enum entry_kind kind;
	uint64_t detail;
};

struct sel4_log { /* part->priv */
	struct trace *trace;
	bool text;
	bool x86;
	uint32_t record_bytes;
	uint64_t end;       /* binary: at open, all bytes from this offset on were zero */
	uint64_t mult, div; /* ns = ticks * mult / div; both at least 1 */
	uint32_t class_of[ENTRY_KINDS];
	uint32_t exit_class[2]; /* [1]: of exits with a core, [0]: without */
	uint32_t greatest_slots;
};

/* Returns the name of a kind in the driver's text. */
const char *entry_name(const struct sel4_log *log, enum entry_kind kind);

enum record_step {
	RECORD_GOOD,
	RECORD_EMPTY, /* all zeros: the unused end of a buffer */
	RECORD_BAD,   /* *why says what is wrong with it */
	RECORD_MORE   /* `size` bytes are too few */
};

/*
 * Parses the record at data[0..size). *bytes is its size, also of a bad record. `last`: the file
 * ends with these bytes.
 */
enum record_step sel4_record(const struct sel4_log *log, const uint8_t *data, size_t size,
			     bool last, struct sel4_record *out, size_t *bytes, const char **why);

struct sel4_lane {
	size_t at; /* offset of a record in its packet */
	uint32_t lane;
};

/* lanes.c: the lanes of a packet's records, in order of `at`. Begins as {0}. */
struct sel4_lanes {
	struct sel4_lane *items;
	size_t count, capacity;
};
/* Finds the lanes of the packet data[0..size), up to a bad record; replaces those of a packet
   before. `last`: the file ends with the packet. */
void sel4_lanes_find(struct sel4_lanes *lanes, const struct sel4_log *log, const uint8_t *data,
		     size_t size, bool last);
uint32_t sel4_lane_at(const struct sel4_lanes *lanes, size_t at);
void sel4_lanes_release(struct sel4_lanes *lanes);

/* Do the first bytes of a file look like a log, in binary or in text? */
bool sel4_looks_binary(const uint8_t *data, size_t size);
bool sel4_looks_text(const uint8_t *data, size_t size);

/* Converts ticks to ns; --offset may have moved the clock's origin. */
struct sel4_clock {
	uint64_t mult, div;
	__int128 origin;
};
void sel4_clock_of(const struct stream *stream, struct sel4_clock *out);
/* Returns the times of a record's entry and exit; false: they do not fit in nstime. */
bool sel4_times(const struct sel4_clock *clock, const struct sel4_record *record, nstime out[2]);

const struct sel4_log *sel4_log_of(const struct stream *stream);

MUST_CHECK bool sel4_open(struct trace *trace, const char *path, const char *settings,
			  enum source_mode mode, struct error *err);

#endif
