/*
 * packet_head.c - header and context of a packet: sizes, times, counters, CPU
 *
 * Every member is optional (CTF 1.8, 5.2); defaults are those of the specification: without
 * packet_size the packet is as long as its content, without either it reaches to the end of its
 * file. All sizes are compared with the bytes left in the file before they are used.
 */
#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "engine/ctf/ctf_internal.h"

#include <inttypes.h>
#include <string.h>

enum { FIRST_READ = 512, MOST_READ = 1 << 20 };

static bool is_uuid(const struct ctf_description *d, const struct member *member)
{
	const struct field_class *class = member->class;

	if (class->kind != FIELD_ARRAY)
		return false;
	if (d->major >= 2)
		return class->roles & ROLE_UUID;
	return d->has_uuid && !strcmp(member->name, "uuid") && class->length == sizeof d->uuid &&
	       class->element->kind == FIELD_INT && class->element->bits == 8;
}

/*
 * Sets out->other if the packet has another UUID than the metadata: concatenated files and files of
 * gather.c may have packets of other sessions.
 */
static void note_uuid(const struct ctf_part *part, const struct slot *slots, const uint8_t *data,
		      struct ctf_packet_head *out)
{
	const struct ctf_description *d = &part->description;
	const struct field_class *header = d->packet_header;

	for (uint32_t i = 0; header && i < header->nmembers; i++) {
		const struct field_class *class = header->members[i].class;
		uint64_t at = is_uuid(d, &header->members[i]) ? slots[class->slot].at : 1;
		if (at % 8 != 0 || !memcmp(data + at / 8, d->uuid, sizeof d->uuid))
			continue;
		out->other = true;
		memcpy(out->uuid, data + at / 8, sizeof out->uuid);
	}
}

bool packet_head_is_own(const struct ctf_part *part, const struct ctf_packet_head *head,
			struct error *err)
{
	const struct ctf_description *d = &part->description;
	char said[UUID_TEXT], wanted[UUID_TEXT];

	if (!head->other || d->major < 2 || part->gathered)
		return true;
	return error_set(err, ERR_FORMAT,
			 "the packet has the UUID of another metadata stream, %s; this one has %s",
			 uuid_put(head->uuid, said), uuid_put(d->uuid, wanted));
}

/* 2010 proposal: the packet must have the session id of the metadata. */
static bool check_session(const struct ctf_description *d, const uint8_t *data, struct error *err)
{
	struct rfc_head head;

	if (!rfc_head_read(data, &head) || !d->has_session || head.session == d->session)
		return true;
	return error_set(err, ERR_FORMAT,
			 "the packet has session id %" PRIu32 ", the metadata %" PRIu32,
			 head.session, d->session);
}

static bool check_header(const struct ctf_stream_class *stream, const struct slot *slots,
			 const uint8_t *data, struct ctf_packet_head *out, struct error *err)
{
	const struct ctf_description *d = &stream->part->description;
	const struct field_class *header = d->packet_header;
	uint64_t value;

	if (!header)
		return true;
	if (ctf_role_value(header, slots, ROLE_MAGIC, &value, NULL) && value != CTF_MAGIC)
		return error_set(err, ERR_FORMAT, "bad packet magic 0x%08" PRIx64, value);
	if (ctf_role_value(header, slots, ROLE_STREAM_ID, &value, NULL) &&
	    value != stream->description->id)
		return error_set(err, ERR_FORMAT,
				 "the packet has stream id %" PRIu64
				 ", the file's first one %" PRIu64,
				 value, stream->description->id);
	note_uuid(stream->part, slots, data, out);
	if (d->is_2010)
		return check_session(d, data, err);
	for (uint32_t i = 0; d->major < 2 && i < header->nmembers; i++) {
		const struct member *member = &header->members[i];
		const struct field_class *class = member->class;
		static const char *const schemes[] = {"compression_scheme", "encryption_scheme",
						      "checksum_scheme"};
		for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++)
			if (class->kind == FIELD_INT && !strcmp(member->name, schemes[k]) &&
			    slots[class->slot].u)
				return error_set(err, ERR_FORMAT,
						 "the packet has %s %" PRIu64 ", which is not "
						 "supported",
						 schemes[k], slots[class->slot].u);
	}
	return true;
}

static bool member_value(const struct ctf_stream_class *class, const struct slot *slots,
			 enum packet_member member, uint64_t *out, unsigned *bits)
{
	const struct field_class *node = class->member[member];

	if (!node)
		return false;
	if (class->context_varies)
		return ctf_role_value(class->description->packet_context,
				      slots + class->context_base,
				      (enum ctf_role)ctf_member_roles[member], out, bits);
	*out = slots[class->context_base + node->slot].u;
	*bits = node->bits;
	return true;
}

static bool check_sizes(struct ctf_packet_head *head, uint64_t at, uint64_t whole,
			struct error *err)
{
	if (head->packet_bits == 0 || head->packet_bits % 8)
		return error_set(err, ERR_FORMAT,
				 "packet_size is %" PRIu64 " bits, not a number of whole bytes",
				 head->packet_bits);
	if (head->content_bits > head->packet_bits)
		return error_set(err, ERR_FORMAT,
				 "content_size (%" PRIu64 " bits) is above packet_size (%" PRIu64
				 ")",
				 head->content_bits, head->packet_bits);
	if (head->content_bits < at)
		return error_set(err, ERR_FORMAT,
				 "content_size (%" PRIu64 " bits) is below the packet's own "
				 "header (%" PRIu64 ")",
				 head->content_bits, at);
	if (head->packet_bits / 8 > whole && !head->has_size)
		return error_set(err, ERR_FORMAT, "the packet reaches past the end of its file");
	return true;
}

/* 2010 proposal: reads coding and sequence bits of the header. It and its sizes are whole bytes. */
static void take_rfc_head(const uint8_t *data, struct ctf_packet_head *out)
{
	struct rfc_head head;

	rfc_head_read(data, &head);
	out->content_bits *= 8;
	out->packet_bits *= 8;
	out->events_at = (out->events_at + 7) / 8 * 8;
	out->seq_bits = head.sequence_bits;
	out->coding = head.coding;
}

bool packet_head_decode(const struct ctf_stream_class *class, const uint8_t *data, size_t size,
			uint64_t whole, struct slot *slots, uint64_t *registers,
			struct ctf_packet_head *out, struct error *err)
{
	struct layout_input in = {.data = data, .bits = (uint64_t)size * 8, .registers = registers};
	uint64_t cpu;
	unsigned bits;

	*out = (struct ctf_packet_head){.discarded = PACKET_NONE, .seq = PACKET_NONE, .cpu = -1};
	if (!layout_decode(class->packet, &in, slots))
		return size < whole ? error_set(err, ERR_RANGE, "more bytes are needed")
				    : error_set(err, ERR_FORMAT, "packet header cut short");
	if (!check_header(class, slots, data, out, err))
		return false;
	bool content = member_value(class, slots, MEMBER_CONTENT_SIZE, &out->content_bits, &bits);
	out->has_size = member_value(class, slots, MEMBER_PACKET_SIZE, &out->packet_bits, &bits);
	if (!out->has_size)
		out->packet_bits = content ? out->content_bits : whole * 8;
	if (!content)
		out->content_bits = out->packet_bits;
	out->events_at = in.at;
	if (class->part->description.is_2010)
		take_rfc_head(data, out);
	if (!check_sizes(out, in.at, whole, err))
		return false;
	out->has_begin = class->has_clock &&
			 member_value(class, slots, MEMBER_BEGIN, &out->begin, &out->begin_bits);
	out->has_end = class->has_clock && member_value(class, slots, MEMBER_END, &out->end, &bits);
	bool closed = !out->has_end || out->end || !(class->part->quirks & QUIRK_ZERO_END);
	if (out->has_begin && out->has_end)
		out->end = clock_update(out->begin, out->end, bits);
	if (closed) /* the tracer writes the counter when it writes the end */
		member_value(class, slots, MEMBER_DISCARDED, &out->discarded, &bits);
	member_value(class, slots, MEMBER_SEQUENCE, &out->seq, &bits);
	out->before_all = class->before_all && class->before_all->kind == FIELD_INT &&
			  slots[class->context_base + class->before_all->slot].u;
	if (member_value(class, slots, MEMBER_CPU, &cpu, &bits) && cpu <= INT32_MAX)
		out->cpu = (int32_t)cpu;
	return true;
}

/* Reads a packet's head into `bytes`, then into 4 times larger buffers while it does not fit. */
static bool read_growing(const struct ctf_stream_class *class, struct source *source,
			 uint64_t offset, uint8_t *bytes, size_t size, struct ctf_packet_head *out,
			 struct error *err)
{
	uint64_t whole = source_size(source) - offset;
	struct slot *slots = mem_new_array(layout_slots(class->packet) + 1, sizeof *slots);
	uint64_t *registers = mem_new_array(class->part->registers + 1, sizeof *registers);
	uint8_t *grown = NULL;
	bool ok;

	for (;;) {
		if (size > whole)
			size = (size_t)whole;
		if (size > FIRST_READ)
			bytes = grown = mem_resize(grown, size, 1);
		ok = source_peek(source, offset, bytes, size, err) &&
		     packet_head_decode(class, bytes, size, whole, slots, registers, out, err);
		if (ok || err->kind != ERR_RANGE || size >= MOST_READ)
			break;
		size *= 4;
	}
	mem_free(grown);
	mem_free(slots);
	mem_free(registers);
	return ok;
}

bool packet_head_of(const struct ctf_stream_class *class, struct source *source, uint64_t offset,
		    struct ctf_packet_head *out, struct error *err)
{
	uint8_t bytes[FIRST_READ];
	size_t size = class->head_bytes && class->head_bytes < FIRST_READ
			      ? (size_t) class->head_bytes
			      : FIRST_READ;

	if (read_growing(class, source, offset, bytes, size, out, err))
		return true;
	if (err->kind == ERR_RANGE)
		err->kind = ERR_FORMAT;
	return error_while(err, "%s: packet at offset %" PRIu64, source_name(source), offset);
}

bool packet_head_read(const struct stream *stream, uint32_t source, uint64_t offset,
		      struct ctf_packet_head *out, struct error *err)
{
	return packet_head_of(stream_state(stream)->class, stream->sources[source], offset, out,
			      err);
}

void ctf_carried_write(const struct ctf_carried *from, bool piece, struct packet_info *info)
{
	const uint64_t words[] = {from->clock, from->packet_off, from->end_bit};

	info->ncarried = piece ? CARRIED_PIECE : CARRIED_CLOCK;
	for (size_t i = 0; i < (piece ? 24 : 8); i++)
		info->carried[i] = (uint8_t)(words[i / 8] >> i % 8 * 8);
	if (piece)
		info->carried[24] = from->first_bit;
}

bool ctf_carried_read(const struct packet_info *info, struct ctf_carried *out)
{
	struct cursor in = cursor_over(info->carried, info->ncarried);

	*out = (struct ctf_carried){0};
	if (!info->ncarried)
		return false;
	out->clock = cursor_u64le(&in);
	if (info->rec.flags & PACKET_PIECE) {
		out->packet_off = cursor_u64le(&in);
		out->end_bit = cursor_u64le(&in);
		out->first_bit = cursor_u8(&in);
	}
	return !in.failed;
}
