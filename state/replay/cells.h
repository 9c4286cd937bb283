/*
 * cells.h - the whole state at one position: a cell per attribute written, and tombstones
 *
 * A delete drops the cells that it covers and leaves one tombstone, so memory follows what exists.
 * A cell is newer than all tombstones above it. An attribute without a cell has the kind of the
 * newest tombstone that covers it, else its `initial` value, else it was never written.
 */
#ifndef STATE_REPLAY_CELLS_H
#define STATE_REPLAY_CELLS_H

#include "state/events/event_source.h"
#include "state/program/program.h"

/* The line that wrote a value, and its event (for --why). */
struct writer {
	struct order order;
	uint64_t at;          /* offset in the packet, in bits */
	uint32_t class_index; /* UINT32_MAX: a loss, @start, @end or none */
	uint32_t line; /* id of the statement; UINT32_MAX: none wrote it (`initial`, or no value) */
};

struct writer writer_of(const struct event_item *item);

struct cell {
	struct value value;
	nstime since; /* time of the last write, or begin of a fill; NSTIME_MIN: none */
	bool named;   /* = += was push wrote it: lists have it */
	bool written; /* false: `initial`, or never written */
	nstime run;   /* since when it has had this value */
	/* the value just before `since`, and since when it had held */
	struct value last;
	nstime last_run;
	struct writer writer;
	nstime named_at; /* since when lists have it */
};

/* Writes a value at `since`. Of several in one nanosecond only the last one makes an interval. */
void cell_put(struct cell *cell, const struct value *value, nstime since,
	      const struct writer *writer);

struct cells;

/*
 * brief: cells have only value, since, named and written, to save memory where there are millions.
 * cells_get() then returns `since` for all other times, and no writer.
 */
struct cells *cells_new(struct program *program, size_t nstreams, bool brief);
void cells_free(struct cells *cells); /* NULL is fine */
void cells_clear(struct cells *cells);

/* The attribute's value, with or without a cell. Text lives as long as the attribute table. */
void cells_value(const struct cells *cells, uint32_t attr, struct value *out);
void cells_get(const struct cells *cells, uint32_t attr, struct cell *out);
/* value->text must live as long as the attribute table. */
void cells_set(struct cells *cells, uint32_t attr, const struct cell *cell);
/*
 * Applies a `delete` (VALUE_NONE) or `unknown` (VALUE_UNKNOWN) to all that the pattern covers.
 * Calls `each` for every cell that changes.
 */
typedef void cells_each(void *arg, uint32_t attr, const struct cell *before,
			const struct cell *after);
void cells_bury(struct cells *cells, const struct pattern *pattern, enum value_kind kind,
		nstime since, const struct writer *writer, cells_each *each, void *arg);
/*
 * To be called before the first write of a later time: drops the cells that were deleted and not
 * written again, except those for which `keeps` (may be NULL) returns true. cells_bury() calls
 * `each` only for cells, so a followed attribute must keep its cell.
 */
typedef bool cells_keeps(void *arg, uint32_t attr);
void cells_settle(struct cells *cells, cells_keeps *keeps, void *arg);

size_t cells_count(const struct cells *cells);
/* Sets *attr to the next attribute that has a cell, by rising id. False: there is none. */
bool cells_next(const struct cells *cells, uint32_t *attr); /* start with ATTR_ROOT */

/* The value of section/x of a stream; *written is false if nothing wrote it. */
void cells_section(const struct cells *cells, uint32_t stream, uint32_t section, struct value *out,
		   bool *written);
void cells_set_section(struct cells *cells, uint32_t stream, uint32_t section,
		       const struct value *value);
/* End of the stream's last loss; NSTIME_MIN: there was none. */
nstime cells_until(const struct cells *cells, uint32_t stream);
void cells_set_until(struct cells *cells, uint32_t stream, nstime until);

/* Writes everything as bytes, and reads it; false: the bytes are of another program. */
void cells_write(const struct cells *cells, struct buf *out);
bool cells_read(struct cells *cells, const void *bytes, size_t len);
/*
 * As cells_read(), if streams have other numbers now: stream i of `count` is streams[i];
 * UINT32_MAX: it no longer exists.
 */
bool cells_read_moved(struct cells *cells, const void *bytes, size_t len, const uint32_t *streams,
		      size_t count);
struct io;
/* Reads or writes an order, its time as the difference from `near`. */
struct order io_order(struct io *io, struct order order, nstime near);

#endif
