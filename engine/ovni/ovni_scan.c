/*
 * ovni_scan.c - a stream's packets → packet records
 *
 * Events follow one another from byte 8 on; only reading all events in front of one gives its
 * place. A packet is about 64 KB of events, with its exact least and greatest time. The scan ends
 * at damage, as the next event's place is unknown then.
 *
 * Clocks do not fall, except inside a region OU[ ... OU], where events of the kernel are older than
 * the events in front of them (trace specification, "sorting"). A clock that falls elsewhere is
 * damage, and ends the scan.
 */
#include "engine/ovni/ovni_internal.h"

#include <inttypes.h>

enum { WINDOW = 256 << 10 };
enum { PACKET_BYTES = 64 << 10 /* a packet ends behind the event that reaches it */ };

struct ovni_scan_state { /* in scan->priv */
	uint64_t clock; /* of the last event outside of regions */
	uint8_t in_region, done;
};
_Static_assert(sizeof(struct ovni_scan_state) <= SCAN_PRIV_MAX, "scan_state is stored in priv");

/* The events of the current packet so far. */
struct walked_frames {
	uint64_t bytes, least, greatest, last;
	uint32_t events;
	bool fell;
	bool waits; /* a growing file ends inside the next event */
};

static bool says(const struct stream *stream, uint64_t at, const char *what, struct error *err)
{
	return error_set(err, ERR_FORMAT, "%s: event at offset %" PRIu64 " %s",
			 source_name(stream->sources[0]), at, what);
}

static bool check_clock(const struct stream *stream, uint64_t at, const uint8_t *event,
			uint64_t clock, struct ovni_scan_state *state, struct error *err)
{
	bool leaves = ovni_is(event, "OU]");

	if (clock > OVNI_TIME_MAX)
		return says(stream, at, "has a clock that does not fit in nanoseconds", err);
	if (state->in_region && !leaves)
		return true;
	if (clock < state->clock)
		return error_set(err, ERR_FORMAT,
				 "%s: event at offset %" PRIu64 " has clock %" PRIu64
				 " after %" PRIu64 ", outside of an unordered region",
				 source_name(stream->sources[0]), at, clock, state->clock);
	state->clock = clock;
	state->in_region = ovni_is(event, "OU[");
	return true;
}

static void take_frame(struct walked_frames *walked, const struct ovni_frame *frame)
{
	if (!walked->events || frame->clock < walked->least)
		walked->least = frame->clock;
	if (!walked->events || frame->clock > walked->greatest)
		walked->greatest = frame->clock;
	walked->fell |= walked->events && frame->clock < walked->last;
	walked->last = frame->clock;
	walked->bytes += frame->bytes;
	walked->events++;
}

static bool waits_for_more(const struct stream *stream)
{
	return ovni_own(stream)->trace->grows && !ovni_own(stream)->finished;
}

/* Walks events of the block, which is at offset `off`, to the packet's end. Sets *wanted to the
   bytes of an event that the block cuts. False: damage. */
static bool ovni_scan_walk(const struct stream *stream, const struct block *block, uint64_t off,
			   struct ovni_scan_state *state, struct walked_frames *walked,
			   uint64_t *wanted, struct error *err)
{
	const bool big = ovni_own(stream)->big_endian;
	const uint32_t asked = ovni_own(stream)->trace->packet_bytes;
	const uint32_t most = asked ? asked : PACKET_BYTES;
	struct ovni_frame frame;

	while (walked->bytes < most && walked->bytes < block->size &&
	       walked->events < UINT32_MAX - 1) {
		const uint8_t *event = block->data + walked->bytes;
		uint64_t at = off + walked->bytes, rest = source_size(stream->sources[0]) - at;
		switch (ovni_frame(event, block->size - walked->bytes, big, &frame)) {
		case FRAME_GOOD:
			break;
		case FRAME_CUT:
			if ((frame.bytes > rest || rest < EVENT_HEAD) && waits_for_more(stream)) {
				walked->waits = true;
				return true;
			}
			if (frame.bytes > rest || rest < EVENT_HEAD)
				return says(stream, at, "is cut off: the file ends before it does",
					    err);
			*wanted = frame.bytes;
			return true;
		case FRAME_NOT_PRINTABLE:
			return says(stream, at,
				    "has no printable name: what stands there is no "
				    "event",
				    err);
		case FRAME_BAD_JUMBO:
			return says(stream, at, "is a jumbo event without a size of 4 bytes", err);
		}
		if (!check_clock(stream, at, event, frame.clock, state, err))
			return false;
		take_frame(walked, &frame);
	}
	return true;
}

static nstime to_time(const struct stream *stream, uint64_t clock)
{
	const struct trace *trace = ovni_own(stream)->trace;

	return timebase_to_ns_clamped(&trace->clocks[stream->clock].base, clock);
}

static void make_record(const struct stream *stream, uint64_t off,
			const struct walked_frames *walked, struct packet_info *out)
{
	*out = (struct packet_info){
		.rec = {.min = to_time(stream, walked->least),
			.max = to_time(stream, walked->greatest),
			.off = off,
			.seq = PACKET_NONE,
			.lost = PACKET_NONE,
			.events = walked->events,
			.cpu = -1,
			.flags = PACKET_EXACT_MIN | PACKET_EXACT_MAX |
				 (walked->fell ? PACKET_UNSORTED : 0)},
		.long_len = walked->bytes,
	};
	out->rec.len = walked->bytes < UINT32_MAX ? (uint32_t)walked->bytes : UINT32_MAX;
}

/* Walks one packet from `off` on; enlarges the window for a long jumbo event. */
static bool walk_packet(const struct stream *stream, uint64_t off, struct ovni_scan_state *state,
			struct walked_frames *walked, struct error *err)
{
	struct source *source = stream->sources[0];
	uint64_t rest = source_size(source) - off, wanted = WINDOW;
	struct block block;
	bool good = true;

	while (good && !walked->events && !walked->waits) {
		uint64_t size = wanted < rest ? wanted : rest;
		wanted = 0;
		if (!source_get(source, off, (size_t)size, &block, err))
			return false;
		good = ovni_scan_walk(stream, &block, off, state, walked, &wanted, err);
		source_put(&block);
		if (wanted && wanted <= size) /* the window cuts the event; others are before it */
			break;
	}
	return good;
}

bool ovni_watermark(const struct stream *stream, nstime *until)
{
	*until = NSTIME_MAX;
	return ovni_own(stream)->finished;
}

enum step ovni_scan(const struct stream *stream, struct scan *scan, struct packet_info *out,
		    struct error *err)
{
	uint64_t off = scan->next < OBS_HEAD ? OBS_HEAD : scan->next;
	struct walked_frames walked = {0};
	struct ovni_scan_state state;

	memcpy(&state, scan->priv, sizeof state);
	if (state.done || off >= source_size(stream->sources[0]))
		return STEP_END;
	bool good = walk_packet(stream, off, &state, &walked, err);
	if (!good && !walked.events) {
		state.done = true;
		memcpy(scan->priv, &state, sizeof state);
		return STEP_ERROR;
	}
	if (!walked.events)
		return STEP_END;
	/* the next call reports damage behind good events */
	make_record(stream, off, &walked, out);
	scan->next = off + walked.bytes;
	if (waits_for_more(stream) &&
	    (walked.waits || scan->next == source_size(stream->sources[0])))
		out->rec.flags |= PACKET_OPEN;
	scan->emitted++;
	memcpy(scan->priv, &state, sizeof state);
	return STEP_ITEM;
}
