/*
 * repeat.c - a small LTTng trace, repeated to any size by shifting its packets in time
 *
 *     bench-repeat TRACE OUT BYTES
 *
 * Each repetition is later by a multiple of 2^32 cycles, so short time stamps (27 or 32 bits) stay
 * the same; begin and end in packet contexts and the time stamps in long event headers are changed.
 * All else stays: the events, fields and sizes that the tracer wrote.
 */
#include "engine/base/mem.h"
#include "engine/ctf/ctf_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int fail(const char *what)
{
	fprintf(stderr, "bench-repeat: %s\n", what);
	return 1;
}

static void add_u64(uint8_t *bytes, uint64_t shift, bool big_endian)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value |= (uint64_t)bytes[big_endian ? 7 - i : i] << 8 * i;
	value += shift;
	for (int i = 0; i < 8; i++)
		bytes[big_endian ? 7 - i : i] = (uint8_t)(value >> 8 * i);
}

/* Byte offset of a 64-bit member of the packet context; header and context are constant. */
static bool member_offset(const struct ctf_stream_class *class, enum packet_member member,
			  uint64_t *out)
{
	const struct field_class *roots[] = {class->part->description.packet_header,
					     class->description->packet_context};
	uint64_t at = 0;

	for (int r = 0; r < 2; r++)
		for (uint32_t i = 0; roots[r] && i < roots[r]->nmembers; i++) {
			const struct field_class *f = roots[r]->members[i].class;
			uint64_t count = f->kind == FIELD_ARRAY ? f->length : 1;
			const struct field_class *unit = f->kind == FIELD_ARRAY ? f->element : f;
			if (unit->kind != FIELD_INT)
				return false;
			at = (at + unit->align - 1) / unit->align * unit->align;
			if (f == class->member[member]) {
				*out = at / 8;
				return f->bits == 64;
			}
			at += count * unit->bits;
		}
	return false;
}

/* Byte offsets in the packet of all whole time stamps. */
struct stamps {
	uint64_t *at;
	size_t count, capacity;
};

static void stamp_add(struct stamps *stamps, uint64_t at)
{
	*mem_push(stamps->at, stamps->count, stamps->capacity) = at;
}

static bool find_stamps(const struct stream *stream, const struct packet_info *info,
			struct stamps *out, struct error *err)
{
	const struct ctf_stream_class *class = stream_state(stream)->class;
	unsigned short_bits = class->shape == HEAD_COMPACT ? 32 : 48;
	unsigned id_bytes = class->shape == HEAD_COMPACT ? 1 : 2;
	struct decoder *decoder = ctf_decoder_new(stream);
	struct batch *batch = batch_new(BATCH_MAX, 0, NULL);
	uint64_t begin, end;
	enum step step = STEP_END;

	bool ok = (class->shape == HEAD_COMPACT || class->shape == HEAD_LARGE) &&
		  member_offset(class, MEMBER_BEGIN, &begin) &&
		  member_offset(class, MEMBER_END, &end);
	if (!ok)
		error_set(err, ERR_FORMAT, "not a trace with LTTng's event headers");
	ok = ok && ctf_decoder_open(decoder, info, err);
	out->count = 0;
	if (ok) {
		stamp_add(out, begin);
		stamp_add(out, end);
	}
	batch->capacity = BATCH_MAX;
	while (ok && (step = ctf_decoder_next(decoder, batch, err)) == STEP_ITEM)
		for (uint32_t i = 0; i < batch->count; i++)
			if (batch->head[i] > short_bits)
				stamp_add(out, batch->at[i] / 8 + id_bytes + 4);
	ctf_decoder_free(decoder);
	batch_free(batch);
	return ok && step == STEP_END;
}

struct packet_copy {
	uint8_t *bytes;
	size_t size;
	struct stamps stamps;
};

struct stream_copy {
	struct packet_copy *packets;
	size_t count, capacity;
	FILE *file;
};

static bool load(const struct stream *stream, struct stream_copy *out, uint64_t *first,
		 uint64_t *last, struct error *err)
{
	struct scan scan = {0};
	struct packet_info info;
	enum step step;

	while ((step = ctf_scan(stream, &scan, &info, err)) == STEP_ITEM) {
		struct packet_copy copy = {.size = (size_t)packet_bytes(&info)};
		struct ctf_packet_head head;
		if (info.rec.flags & PACKET_PIECE)
			return error_set(err, ERR_FORMAT, "packets over 1 MB are not repeated");
		copy.bytes = mem_new(copy.size);
		if (!source_peek(stream->sources[info.rec.source], info.rec.off, copy.bytes,
				 copy.size, err) ||
		    !packet_head_read(stream, info.rec.source, info.rec.off, &head, err) ||
		    !find_stamps(stream, &info, &copy.stamps, err))
			return false;
		*first = head.begin < *first ? head.begin : *first;
		*last = head.end > *last ? head.end : *last;
		*mem_push(out->packets, out->count, out->capacity) = copy;
	}
	return step == STEP_END;
}

static bool write_round(struct stream_copy *copy, uint64_t shift, bool big_endian, uint64_t *total)
{
	for (size_t i = 0; i < copy->count; i++) {
		struct packet_copy *p = &copy->packets[i];
		for (size_t k = 0; shift && k < p->stamps.count; k++)
			add_u64(p->bytes + p->stamps.at[k], shift, big_endian);
		if (fwrite(p->bytes, 1, p->size, copy->file) != p->size)
			return false;
		*total += p->size;
	}
	return true;
}

static bool copy_metadata(const char *from, const char *to)
{
	char buffer[65536], path[4096];
	size_t n;

	snprintf(path, sizeof path, "%s/metadata", from);
	FILE *in = fopen(path, "rb");
	snprintf(path, sizeof path, "%s/metadata", to);
	FILE *out = fopen(path, "wb");
	bool ok = in && out;
	while (ok && (n = fread(buffer, 1, sizeof buffer, in)) > 0)
		ok = fwrite(buffer, 1, n, out) == n;
	if (in)
		fclose(in);
	return out && fclose(out) == 0 && ok;
}

int main(int argc, char **argv)
{
	struct trace_options options = {.paths = (const char *const *)(argv + 1), .npaths = 1};
	struct trace *trace;
	struct error err;
	uint64_t first = UINT64_MAX, last = 0, total = 0;

	if (argc != 4)
		return fail("usage: bench-repeat TRACE OUT BYTES") + 1;
	uint64_t wanted = strtoull(argv[3], NULL, 10);
	if (!trace_open(&options, &trace, &err))
		return fail(err.text);
	if (trace->nparts != 1)
		return fail("one trace folder, not a session");
	const struct part *part = trace->parts[0];
	if (mkdir(argv[2], 0777) != 0 && errno != EEXIST)
		return fail(strerror(errno));
	if (!copy_metadata(part->path, argv[2]))
		return fail("metadata cannot be copied");
	struct stream_copy *copies = mem_new_array(trace->nstreams, sizeof *copies);
	for (size_t i = 0; i < trace->nstreams; i++) {
		char path[4096];
		snprintf(path, sizeof path, "%s/%s", argv[2], trace->streams[i]->name);
		if (!load(trace->streams[i], &copies[i], &first, &last, &err))
			return fail(err.text);
		if (!(copies[i].file = fopen(path, "wb")))
			return fail(strerror(errno));
	}
	uint64_t step = ((last - first) >> 32) + 1;
	bool big = ((const struct ctf_part *)part->priv)->description.big_endian;
	for (uint64_t round = 0; total < wanted; round++)
		for (size_t i = 0; i < trace->nstreams; i++)
			if (!write_round(&copies[i], round ? step << 32 : 0, big, &total))
				return fail("writing failed");
	for (size_t i = 0; i < trace->nstreams; i++)
		if (fclose(copies[i].file) != 0)
			return fail("writing failed");
	trace_close(trace);
	printf("%llu bytes\n", (unsigned long long)total);
	return 0;
}
