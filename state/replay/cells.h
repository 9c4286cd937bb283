/*
 * cells.h - the whole state at one position: a cell per attribute written, tombstones of what was
 * deleted
 *
 * A delete drops the cells it covers and leaves one tombstone, so memory follows what lives. A cell
 * that is there is newer than every tombstone above it; one that is not there takes the newest
 * tombstone that covers it, else `initial`, else it was never written: three different records.
 */
#ifndef STATE_REPLAY_CELLS_H
#define STATE_REPLAY_CELLS_H

#include "state/events/event_source.h"
#include "state/program/program.h"

/* The line that wrote, and its event: for --why. */
struct writer {
	struct order order;
	uint64_t at;          /* bits, in the packet */
	uint32_t class_index; /* UINT32_MAX: a loss, @start, @end or none */
	uint32_t line;        /* id of the statement; UINT32_MAX: none (`initial`, never) */
};

struct writer writer_of(const struct event_item *item);

struct cell {
	struct value value;
	nstime since; /* last write, or the beginning of a fill; NSTIME_MIN: null */
	bool named;   /* = += was push wrote it: lists name it */
	bool written; /* false: `initial` or never */
	nstime run;   /* since when it has been equal */
	/* what it was just before `since`, and since when it had been that */
	struct value last;
	nstime last_run;
	struct writer writer;
	nstime named_at; /* when lists began to name it */
};

/* A write at `since`: of several in one nanosecond only the last leaves an interval. */
void cell_put(struct cell *cell, const struct value *value, nstime since,
	      const struct writer *writer);

struct cells;

/*
 * brief: of a cell only value, since, named and written are kept; for the rest cells_get() says
 * that it has been so since `since`, by no line. For builds, which have millions of cells.
 */
struct cells *cells_new(struct program *program, size_t nstreams, bool brief);
void cells_free(struct cells *cells); /* NULL is fine */
void cells_clear(struct cells *cells);

/* What the attribute is; also where no cell is. Text lives as long as the attribute table. */
void cells_value(const struct cells *cells, uint32_t attr, struct value *out);
void cells_get(const struct cells *cells, uint32_t attr, struct cell *out);
/* value->text must live as long as the attribute table. */
void cells_set(struct cells *cells, uint32_t attr, const struct cell *cell);
/* `delete` and `unknown`: all that the pattern covers. `each` hears of every cell that changes. */
typedef void cells_each(void *arg, uint32_t attr, const struct cell *before,
			const struct cell *after);
void cells_bury(struct cells *cells, const struct pattern *pattern, enum value_kind kind,
		nstime since, const struct writer *writer, cells_each *each, void *arg);
/*
 * Before a write at a later time than the last one's: forgets what was deleted and stayed so, but
 * for attributes that `keeps` (NULL: none) wants to stay: only of cells that are there a later
 * cells_bury() tells `each`.
 */
typedef bool cells_keeps(void *arg, uint32_t attr);
void cells_settle(struct cells *cells, cells_keeps *keeps, void *arg);

size_t cells_count(const struct cells *cells);
/* All cells that are there, in order of id. */
bool cells_next(const struct cells *cells, uint32_t *attr); /* start with ATTR_ROOT */

/* section/x of a stream; *written false: nothing wrote it. */
void cells_section(const struct cells *cells, uint32_t stream, uint32_t section, struct value *out,
		   bool *written);
void cells_set_section(struct cells *cells, uint32_t stream, uint32_t section,
		       const struct value *value);
/* Until when the stream's last loss lasted; NSTIME_MIN: none. */
nstime cells_until(const struct cells *cells, uint32_t stream);
void cells_set_until(struct cells *cells, uint32_t stream, nstime until);

/* Everything, as bytes and back; false: the bytes are not of this program. */
void cells_write(const struct cells *cells, struct buf *out);
bool cells_read(struct cells *cells, const void *bytes, size_t len);
/*
 * The same where streams have other numbers now: streams[i] is that of stream i of `count`;
 * UINT32_MAX: it is gone.
 */
bool cells_read_moved(struct cells *cells, const void *bytes, size_t len, const uint32_t *streams,
		      size_t count);
struct io;
/* The time as its difference from `near`. */
struct order io_order(struct io *io, struct order order, nstime near);

#endif
