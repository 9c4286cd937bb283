/*
 * perfetto_stacks.c - call chains as samples: perf samples with interned call stacks
 *
 * Events of one name have a sequence of their own, which readers show as one profile. A frame is a
 * function, its object file and the place in it; an unknown frame is its address. The outermost
 * frame comes first.
 */
#include "convert/perfetto/perfetto_internal.h"

#include <stdio.h>
#include <string.h>

enum { KIND_NATIVE = 1, KIND_KERNEL = 2 };

/* Returns the number of the object's mapping; 0: the object is not known. */
static uint64_t mapping_of(struct sequence *sequence, const char *object)
{
	struct buf *out = &sequence->fresh;
	bool fresh;

	if (!object)
		return 0;
	/* readers put a slash before each part of a path */
	uint64_t path =
		perfetto_intern_text(sequence, INTERN_MAPPING_PATHS, object + (*object == '/'));
	uint64_t iid = perfetto_intern(sequence, INTERN_MAPPINGS, &path, sizeof path, &fresh);
	if (fresh) {
		size_t mapping = protobuf_begin(out, INTERN_MAPPINGS);
		protobuf_uint(out, 1, iid);
		protobuf_uint(out, 7, path);
		protobuf_end(out, mapping);
	}
	return iid;
}

static uint64_t function_of(struct sequence *sequence, const struct frame *frame)
{
	char address[32];

	if (frame->symbol.function)
		return perfetto_intern_text(sequence, INTERN_FUNCTION_NAMES,
					    frame->symbol.function);
	if (frame->symbol.object)
		return 0;
	snprintf(address, sizeof address, "0x%llx", (unsigned long long)frame->address);
	return perfetto_intern_text(sequence, INTERN_FUNCTION_NAMES, address);
}

static uint64_t frame_of(struct sequence *sequence, const struct frame *frame)
{
	struct buf *out = &sequence->fresh;
	struct {
		uint64_t function, mapping, place, kind;
	} key = {function_of(sequence, frame), mapping_of(sequence, frame->symbol.object),
		 frame->symbol.object ? frame->symbol.file_offset : frame->address,
		 frame->kernel ? KIND_KERNEL : KIND_NATIVE};
	bool fresh;
	uint64_t iid = perfetto_intern(sequence, INTERN_FRAMES, &key, sizeof key, &fresh);

	if (fresh) {
		size_t entry = protobuf_begin(out, INTERN_FRAMES);
		protobuf_uint(out, 1, iid);
		if (key.function)
			protobuf_uint(out, 2, key.function);
		if (key.mapping)
			protobuf_uint(out, 3, key.mapping);
		protobuf_uint(out, 4, key.place);
		protobuf_uint(out, 7, key.kind);
		protobuf_end(out, entry);
	}
	return iid;
}

static uint64_t stack_of(struct sequence *sequence, const struct frame *frames, size_t count)
{
	struct buf *out = &sequence->fresh, key = {0};
	bool fresh;

	while (count) {
		uint64_t iid = frame_of(sequence, &frames[--count]);
		buf_add(&key, &iid, sizeof iid);
	}
	uint64_t iid = perfetto_intern(sequence, INTERN_CALLSTACKS, key.data, key.len, &fresh);
	if (fresh) {
		size_t stack = protobuf_begin(out, INTERN_CALLSTACKS);
		protobuf_uint(out, 1, iid);
		for (size_t at = 0; at < key.len; at += sizeof(uint64_t)) {
			uint64_t frame;
			memcpy(&frame, key.data + at, sizeof frame);
			protobuf_uint(out, 2, frame);
		}
		protobuf_end(out, stack);
	}
	buf_release(&key);
	return iid;
}

bool perfetto_stack(struct perfetto *perfetto, nstime t, int32_t cpu,
		    const struct event_class *class, const struct fields *fields, struct error *err)
{
	struct perfetto_plan *plan = &perfetto->classes[class->index];
	const struct frame *frames;
	int64_t tid, pid;
	size_t count = 0;

	if (!perfetto_thread_of(perfetto, plan, fields, &tid, &pid))
		return true; /* samples need a thread */
	if (perfetto->of.options.symbols)
		count = symbols_frames(perfetto->of.options.symbols, t, fields, 0, &frames);
	if (!count)
		return true;
	if (!plan->samples)
		plan->samples = perfetto_samples(perfetto, class->name);
	struct buf *out = perfetto_packet(perfetto, plan->samples, t);
	size_t sample = protobuf_begin(out, TRACE_PERF_SAMPLE);
	if (cpu >= 0)
		protobuf_uint(out, 1, (uint64_t)cpu);
	protobuf_uint(out, 2, (uint64_t)pid);
	protobuf_uint(out, 3, (uint64_t)tid);
	protobuf_uint(out, 4, stack_of(plan->samples, frames, count));
	protobuf_end(out, sample);
	return perfetto_packet_end(perfetto, err);
}
