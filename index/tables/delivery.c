/*
 * delivery.c - see delivery.h
 *
 * Going back from the stream's end: a packet is late if a packet met before, which is later in the
 * stream's order, is in front of it in the file.
 */
#include "index/tables/delivery.h"

struct packet_place {
	uint32_t file;
	uint64_t off;
};

static bool is_before(const struct packet_place *a, const struct packet_place *b)
{
	return a->file != b->file ? a->file < b->file : a->off < b->off;
}

/* `first`: the place nearest to the begin among the packets passed; PACKET_NONE: none was. */
static bool is_late(const struct stream *stream, const struct packet *rec,
		    struct packet_place *first)
{
	struct packet_place own = {rec->source % stream->nsources, rec->off};

	if (first->off != PACKET_NONE && is_before(first, &own))
		return true;
	*first = own;
	return false;
}

bool delivery_find(const struct stream *stream, struct table *table, struct delivery *out,
		   struct error *err)
{
	struct packet_place first = {.off = PACKET_NONE};
	bool stepped = false; /* a source's number tells that the order steps back in the files */
	uint64_t piece = PACKET_NONE;
	struct packet rec;

	*out = (struct delivery){0};
	for (uint64_t i = table_count(table); i-- > 0 && stream->nsources;) {
		if (!table_listed(table, i, &rec, err))
			return false;
		stepped |= rec.source >= stream->nsources;
		out->doubled += (rec.flags & PACKET_DOUBLED) != 0;
		out->other += (rec.flags & PACKET_OTHER) != 0;
		if (rec.flags & (PACKET_DOUBLED | PACKET_OTHER) || !is_late(stream, &rec, &first))
			continue;
		/* pieces of one packet came together */
		out->late += !(rec.flags & PACKET_PIECE) || rec.seq != piece;
		piece = rec.flags & PACKET_PIECE ? rec.seq : PACKET_NONE;
	}
	if (!stepped)
		out->late = 0;
	return true;
}
