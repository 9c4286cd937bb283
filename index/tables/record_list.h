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
		     const struct packet_info *info);   /* copies all */
void record_list_sort(struct record_list *record_list); /* by packet_order() */
/* Records from `from` on are new, the others are sorted. Returns the first that has moved or is
 * new. */
size_t record_list_sort_new(struct record_list *record_list, size_t from);
void record_list_add_all(struct record_list *record_list, const struct record_list *from);
/* The same, those that may change (PACKET_OPEN) behind all others. */
void record_list_add_open_last(struct record_list *record_list, const struct record_list *from);
/*
 * Takes out the `count` records that may change, of a list to which they were added last. Returns
 * the first that has moved.
 */
size_t record_list_drop_open(struct record_list *record_list, size_t count);
/*
 * From now on, before anything is added: what grows beyond a few KB goes to files without a name,
 * where these are to be had. For a list that goes on as long as a trace does.
 */
void record_list_use_files(struct record_list *record_list);
/* `extents` has room for PACKET_EXTENTS_MAX; *out points into it. */
void record_list_get(const struct record_list *record_list, uint64_t i, struct packet_info *out,
		     struct extent *extents);
/* First with min >= t. */
uint64_t record_list_lower_bound(const struct record_list *record_list, nstime t);

/*
 * Does a packet of a stream that is of one CPU say another one? Its events are of that CPU. A
 * packet of another session says nothing.
 */
static inline bool packet_is_of_other_cpu(const struct stream *stream, const struct packet *rec)
{
	return stream->cpu >= 0 && rec->cpu >= 0 && rec->cpu != stream->cpu &&
	       !(rec->flags & PACKET_OTHER);
}
/* Of those from `from` on. */
bool record_list_have_other_cpu(const struct record_list *record_list, size_t from,
				const struct stream *stream);

/* < 0, 0, > 0: the order of tables, (min, source, off). */
int packet_order(const struct packet *a, const struct packet *b);

/* Fills what rides beside out->rec; false when the entry is not whole. */
bool side_unpack(const uint8_t *bytes, size_t size, struct packet_info *out,
		 struct extent *extents);
/* Bytes of the entry that begins at `bytes`; 0 when it is not whole. */
size_t side_size(const uint8_t *bytes, size_t size);

#endif
