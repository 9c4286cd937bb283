/*
 * record_list.h - packet records in memory, with what rides beside them packed into a side list
 *
 * An entry of the side list, all numbers LEB128: mask of what follows (enum side_kind), then per
 * kind, in this order: count of further extents and (gap, length) of each, gap counted from the
 * end of the extent before; count of carried bytes and the bytes; long length; plain size.
 */
#ifndef INDEX_TABLES_RECORD_LIST_H
#define INDEX_TABLES_RECORD_LIST_H

#include "engine/base/buf.h"
#include "engine/packet.h"
#include "engine/trace.h"

struct record_files; /* in which its records and entries are */

struct record_list {
	struct packet *recs;
	size_t count, capacity;
	struct buf side; /* rec.side is 1 + the entry's place here */
	struct record_files *files; /* NULL: all is in memory */
};

enum side_kind { SIDE_EXTENTS = 1, SIDE_CARRIED = 2, SIDE_LONG = 4, SIDE_PLAIN = 8 };

void record_list_release(struct record_list *record_list);
void record_list_add(struct record_list *record_list,
		     const struct packet_info *info);   /* copies it */
void record_list_sort(struct record_list *record_list); /* by packet_order() */
/* Sorts a list of which the records before `from` are sorted. Returns the index of the first record
 * that is new or was moved. */
size_t record_list_sort_new(struct record_list *record_list, size_t from);
void record_list_add_all(struct record_list *record_list, const struct record_list *from);
/* The same; adds those that may change (PACKET_OPEN) behind all others. */
void record_list_add_open_last(struct record_list *record_list, const struct record_list *from);
/*
 * Removes the `count` records that may change, which were added last. Returns the index of the
 * first record that was moved by that.
 */
size_t record_list_drop_open(struct record_list *record_list, size_t count);
/*
 * To be called while the list is empty: records and entries beyond some KB go to unnamed files, if
 * these can be made. For lists that grow with a trace.
 */
void record_list_use_files(struct record_list *record_list);
/* `extents` has room for PACKET_EXTENTS_MAX; *out points into it. */
void record_list_get(const struct record_list *record_list, uint64_t i, struct packet_info *out,
		     struct extent *extents);
/* First with min >= t. */
uint64_t record_list_lower_bound(const struct record_list *record_list, nstime t);

/*
 * Does the packet have another CPU than its stream, which has one? Its events are then of the
 * packet's CPU. Packets of another session do not count.
 */
static inline bool packet_is_of_other_cpu(const struct stream *stream, const struct packet *rec)
{
	return stream->cpu >= 0 && rec->cpu >= 0 && rec->cpu != stream->cpu &&
	       !(rec->flags & PACKET_OTHER);
}
/* Is one of the records from `from` on of another CPU? */
bool record_list_have_other_cpu(const struct record_list *record_list, size_t from,
				const struct stream *stream);

/* Compares by (min, source, off), the order of tables: < 0, 0, > 0. */
int packet_order(const struct packet *a, const struct packet *b);

/* Decodes a side entry to *out, apart from out->rec; false: the entry is damaged. */
bool side_unpack(const uint8_t *bytes, size_t size, struct packet_info *out,
		 struct extent *extents);
/* Size of the entry that begins at `bytes`; 0: it is damaged. */
size_t side_size(const uint8_t *bytes, size_t size);

#endif
