/*
 * fuzz_packet.c - decodes any bytes as a data stream file: damage is reported, nothing else happens
 *
 *     byte 0   which of the descriptions below
 *     rest     the stream file
 *
 * Packets are found, decoded one by one and read field by field. Promises: events of a packet come
 * in batches that fit, positions rise and stay inside the packet, a record's count is what decoding
 * gives, and the work is bounded by the size of the input.
 *
 * With replay.c it is a plain program that reads files.
 */
#include "engine/base/mem.h"
#include "engine/ctf/ctf_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TRACE(order)                                                                      \
	"/* CTF 1.8 */ typealias integer { size = 8; align = 8; } := u8;"                 \
	"typealias integer { size = 16; align = 8; } := u16;"                             \
	"typealias integer { size = 32; align = 8; } := u32;"                             \
	"typealias integer { size = 64; align = 8; } := u64;"                             \
	"trace { major = 1; minor = 8; byte_order = " order "; packet.header := struct {" \
	" u32 magic; u8 uuid[16]; u32 stream_id; }; };"
#define CLOCK                                                                      \
	"clock { name = c; freq = 1000000000; offset = 1351530929945824323; };"    \
	"typealias integer { size = 64; align = 8; map = clock.c.value; } := t64;" \
	"typealias integer { size = 32; align = 8; map = clock.c.value; } := t32;" \
	"typealias integer { size = 27; align = 1; map = clock.c.value; } := t27;"
#define CONTEXT                                                                                \
	"packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u64 content_size;" \
	" u64 packet_size; u64 packet_seq_num; u32 events_discarded; u32 cpu_id; };"
#define COMPACT                                                                                   \
	"event.header := struct { enum : integer { size = 5; align = 1; } { compact = 0 ... 30,"  \
	" extended = 31 } id; variant <id> { struct { t27 timestamp; } compact; struct { u32 id;" \
	" t64 timestamp; } extended; } v; } align(8);"
#define LARGE                                                                                  \
	"event.header := struct { enum : u16 { compact = 0 ... 65534, extended = 65535 } id;"  \
	" variant <id> { struct { t32 timestamp; } compact; struct { u32 id; t64 timestamp; }" \
	" extended; } v; } align(8);"
#define EVENTS                                                                                   \
	"event { name = e0; id = 0; stream_id = 0; fields := struct { u8 a; u32 b; }; };"        \
	"event { name = e1; id = 1; stream_id = 0; fields := struct { string s; u8 n; u16 x[n];" \
	" u8 text[4]; }; };"                                                                     \
	"event { name = e2; id = 2; stream_id = 0; fields := struct { u64 _len; u8 data[_len];"  \
	" integer { size = 32; align = 32; signed = true; } z; }; };"                            \
	"event { name = e3; id = 3; stream_id = 0; };"

/* CTF 2, with ' for ", which build() puts back. */
#define CTF2                                  \
	"\x1e{'type':'preamble','version':2}" \
	"\x1e{'type':'clock-class','id':'c','frequency':1000000000}"
#define FIXED(kind, bits, order)                                                               \
	"'field-class':{'type':'fixed-length-" kind "','length':" bits ",'byte-order':'" order \
	"-endian'"
#define LEB(kind) "'field-class':{'type':'variable-length-" kind "-integer'"
#define U8 FIXED("unsigned-integer", "8", "little")
#define AT(key, name) ",'" key "-field-location':{'path':['" name "']}"
#define EVENT2(id)                                                                    \
	"\x1e{'type':'event-record-class','id':" id ",'payload-field-class':{'type':" \
	"'structure','member-classes':["

static const char *const descriptions[] = {
	/* LTTng, compact, a version whose packet ends are wrong */
	TRACE("le") CLOCK
	"env { tracer_name = \"lttng-ust\"; tracer_major = 2; tracer_minor = 5; };"
	"stream { id = 0; " CONTEXT COMPACT "event.context := struct { u32 tid; string name;"
	" }; };" EVENTS,
	TRACE("le") CLOCK "stream { id = 0; " CONTEXT LARGE "};" EVENTS,
	TRACE("be") CLOCK "stream { id = 0; " CONTEXT COMPACT "};" EVENTS,
	/* a flat header, big-endian, and a context with text; barectf's early first event */
	TRACE("be") CLOCK
	"env { tracer_name = \"barectf\"; tracer_major = 2; tracer_minor = 2; };"
	"stream { id = 0; packet.context := struct { string host; u16 packet_size; u16"
	" content_size; t64 timestamp_begin; t64 timestamp_end; u8 n; u16 list[n]; };"
	"event.header := struct { u16 id; t32 timestamp; }; };" EVENTS,
	/* bit fields, of both byte orders; no stream id */
	"/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };" CLOCK
	"stream { packet.context := struct { integer { size = 24; } packet_size; integer {"
	" size = 20; } content_size; }; event.header := struct { integer { size = 3; } id;"
	" t27 ts; }; }; event { id = 0; fields := struct { integer { size = 7; signed = true;"
	" } a; integer { size = 3; byte_order = be; } b; integer { size = 12; } c[3]; integer {"
	" size = 5; align = 4; } d; }; }; event { id = 1; fields := struct { integer { size ="
	" 6; } n; integer { size = 3; } x[n]; integer { size = 16; align = 16; } y; struct {"
	" integer { size = 8; align = 8; } p; integer { size = 3; byte_order = be; } q; }"
	" s[n]; }; }; event { id = 2; fields := struct { floating_point { exp_dig = 8;"
	" mant_dig = 24; align = 1; } f; }; };",
	/* variants */
	TRACE("le") CLOCK
	"stream { id = 0; event.header := struct { enum : u8 { one, two, three = 5 ... 9 } tag;"
	" variant <tag> { struct { u8 id; t32 ts; } one; struct { u16 id; string s; } two;"
	" t64 three; } v; }; event.context := struct { enum : u8 { a, b } which; }; };"
	"event { id = 0; stream_id = 0; fields := struct { enum : integer { size = 4; } { x, y,"
	" z = 3 } t; variant <t> { integer { size = 4; } x; struct { u8 n; variant <t> { u8 x;"
	" u16 y; } in[n]; } y; string z; } v; variant <stream.event.context.which> { u8 a;"
	" u64 b; } w; variant <stream.event.header.tag> { u8 one; struct { } two; u16 three; }"
	" h; }; };",
	/* elements in elements, and elements of no size */
	TRACE("be") CLOCK
	"stream { id = 0; event.header := struct { u8 id; }; packet.context := struct { u32"
	" packet_size; u8 n; struct { u8 m; u16 x[m]; } deep[n]; }; };"
	"event { id = 0; stream_id = 0; fields := struct { u16 n; struct { string s; u8 m;"
	" struct { u8 k; integer { size = 3; } b[k]; u16 a[2][2]; } in[m]; } out[n]; }; };"
	"event { id = 1; stream_id = 0; fields := struct { u64 n; struct { } none[n]; struct {"
	" struct { } also[n]; } more[n][n]; }; };"
	"event { id = 2; stream_id = 0; fields := struct { u8 n; struct { } align(64) e[n];"
	" u64 m; u8 x[3][n][m]; }; };",
	/* no clock, no sizes, no header: one event after the other to the end */
	"/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = be; }; event { name = only; "
	"fields"
	" := struct { integer { size = 8; } n; integer { size = 8; encoding = UTF8; } s[n]; }; };",
	/* no packet times, short stamps: the clock goes from packet to packet */
	TRACE("le") CLOCK "stream { id = 0; packet.context := struct { u32 packet_size; }; " COMPACT
			  "};" EVENTS,
	/* times of 32 bits in the packet too */
	TRACE("le") CLOCK
	"stream { id = 0; packet.context := struct { u32 packet_size; u32"
	" content_size; t32 timestamp_begin; t32 timestamp_end; u8 events_discarded;"
	" }; event.header := struct { u8 id; t32 timestamp; }; };" EVENTS,
	/* clang-format off */
	/* CTF 2: LEB128 stamps and numbers, texts, blobs, optionals, variants, nested arrays */
	CTF2 "\x1e{'type':'trace-class','packet-header-field-class':{'type':'structure',"
	"'member-classes':[{'name':'stream'," U8 ",'roles':['data-stream-class-id']}}]}}"
	"\x1e{'type':'data-stream-class','default-clock-class-id':'c',"
	"'packet-context-field-class':{'type':'structure','member-classes':["
	"{'name':'size'," FIXED("unsigned-integer", "32", "little")
	",'roles':['packet-total-length']}},"
	"{'name':'content'," LEB("unsigned") ",'roles':['packet-content-length']}},"
	"{'name':'begin'," LEB("unsigned") ",'roles':['default-clock-timestamp']}},"
	"{'name':'end'," LEB("unsigned") ",'roles':['packet-end-default-clock-timestamp']}},"
	"{'name':'lost'," LEB("unsigned") ",'roles':['discarded-event-record-counter-snapshot']}},"
	"{'name':'number'," U8 ",'roles':['packet-sequence-number']}}]},"
	"'event-record-header-field-class':{'type':'structure','member-classes':["
	"{'name':'id'," U8 ",'roles':['event-record-class-id']}},"
	"{'name':'t'," LEB("unsigned") ",'roles':['default-clock-timestamp']}}]}}"
	EVENT2("0") "{'name':'a'," LEB("signed") "}},"
	"{'name':'b'," LEB("unsigned") ",'mappings':{'x':[[0,5]],'y':[[3,9]]}}},"
	"{'name':'c'," FIXED("bit-map", "12", "big") ",'flags':{'f':[[0,3]],'g':[[11,11]]}}},"
	"{'name':'d'," FIXED("signed-integer", "13", "big") ",'bit-order':'last-to-first'}},"
	"{'name':'e'," FIXED("bit-array", "7", "big") ",'alignment':16}},"
	"{'name':'f','field-class':{'type':'null-terminated-string','encoding':'utf-16be'}}]}}"
	EVENT2("1") "{'name':'n'," U8 "}},"
	"{'name':'s','field-class':{'type':'dynamic-length-string','encoding':'utf-16le'"
	AT("length", "n") "}},"
	"{'name':'b','field-class':{'type':'dynamic-length-blob'" AT("length", "n") "}},"
	"{'name':'t','field-class':{'type':'static-length-string','length':3}},"
	"{'name':'x','field-class':{'type':'static-length-blob','length':5}}]}}"
	EVENT2("2") "{'name':'n'," LEB("unsigned") "}},"
	"{'name':'is'," FIXED("boolean", "8", "little") "}},"
	"{'name':'o','field-class':{'type':'optional'," U8 "}" AT("selector", "is") "}},"
	"{'name':'v','field-class':{'type':'variant'" AT("selector", "n") ",'options':[{"
	LEB("signed") "},'selector-field-ranges':[[0,3]]},"
	"{'field-class':{'type':'structure','member-classes':[{'name':'k'," U8 "}},"
	"{'name':'i','field-class':{'type':'null-terminated-string'}}]},"
	"'selector-field-ranges':[[4,9]]}]}},"
	"{'name':'deep','field-class':{'type':'dynamic-length-array'" AT("length", "n")
	",'element-field-class':{'type':'structure','member-classes':[{'name':'m'," U8 "}},"
	"{'name':'w','field-class':{'type':'optional','selector-field-ranges':[[1,7]]"
	AT("selector", "m") ",'field-class':{'type':'null-terminated-string'}}},"
	"{'name':'e','field-class':{'type':'static-length-array','length':2,"
	"'element-field-class':{'type':'dynamic-length-blob'" AT("length", "m") "}}}]}}}]}}"
	EVENT2("3") "]}}",
	/* CTF 2: one big-endian event after the other, bits at any place */
	CTF2 "\x1e{'type':'data-stream-class'}"
	EVENT2("0") "{'name':'n'," FIXED("unsigned-integer", "5", "big") "}},"
	"{'name':'f'," FIXED("floating-point-number", "16", "big") "}},"
	"{'name':'a','field-class':{'type':'dynamic-length-array'" AT("length", "n")
	",'element-field-class':{'type':'fixed-length-signed-integer','length':3,"
	"'byte-order':'big-endian'}}},"
	"{'name':'r','field-class':{'type':'static-length-array','length':2,'minimum-alignment':8,"
	"'element-field-class':{'type':'fixed-length-unsigned-integer','length':11,"
	"'byte-order':'little-endian','bit-order':'last-to-first'}}}]}}",
	/* clang-format on */
};
enum { DESCRIPTIONS = sizeof descriptions / sizeof *descriptions };

static struct trace *traces[DESCRIPTIONS];
static struct ctf_part *parts[DESCRIPTIONS];
static uint64_t sum; /* sum of all values, so that the compiler keeps the reads */

static void require(bool promise, const char *what)
{
	if (promise)
		return;
	fprintf(stderr, "broken promise: %s\n", what);
	abort();
}

static bool describe(struct trace *trace, const char *written, struct ctf_description *out,
		     struct error *err)
{
	char *text = arena_strdup(trace->arena, written);
	size_t size = strlen(text);

	if (*text != '\x1e')
		return tsdl_parse("metadata", text, size, false, trace->arena, &trace->notices, out,
				  err);
	for (char *quote = text; (quote = strchr(quote, '\''));)
		*quote = '"';
	return ctf2_parse("metadata", text, size, trace->arena, &trace->notices, out, NULL, err);
}

static void build(size_t which)
{
	struct trace *trace = traces[which] = mem_new(sizeof *trace);
	struct ctf_description description;
	const uint64_t identity[2] = {0};
	struct error err = {0};

	trace->arena = arena_new();
	trace->path = "";
	if (describe(trace, descriptions[which], &description, &err))
		parts[which] = ctf_part_add(trace, "", &description, identity, &err);
	require(parts[which] != NULL, err.text);
	struct stream *stream = trace_add_stream(trace, trace->parts[0], "stream");
	struct ctf_stream_state *state = arena_alloc(trace->arena, sizeof *state);
	state->sources = arena_array(trace->arena, 1, sizeof *state->sources);
	stream->priv = state;
	stream->sources = arena_array(trace->arena, 1, sizeof(struct source *));
	stream->nsources = 1;
}

static void walk(const struct field *field)
{
	struct buf scratch = {0};
	struct field_iter iter;
	size_t len;

	if (field_is_text(field)) {
		const uint8_t *bytes = field_bytes(field, &scratch, &len);
		for (size_t i = 0; i < len; i++)
			sum += bytes[i];
		buf_release(&scratch);
		return;
	}
	if (field->class->kind == FIELD_INT || field->class->kind == FIELD_FLOAT)
		sum += field->slot.u;
	else if (field->class->kind != FIELD_STRUCT)
		sum += field->slot.n;
	field_iter_begin(&iter, field);
	while (field_iter_next(&iter))
		walk(&iter.item);
	field_iter_end(&iter);
}

/* Reads all values of an event; returns what that adds to the sum. */
static uint64_t walk_event(struct decoder *decoder, const struct batch *batch, uint32_t i)
{
	struct error err = {0};
	uint64_t before = sum;
	struct fields fields;
	struct field scope;

	require(ctf_decoder_fields(decoder, batch, i, &fields, &err), err.text);
	for (int s = 0; s < SCOPE_COUNT; s++)
		if (fields_scope(&fields, (enum scope)s, &scope))
			walk(&scope);
	return sum - before;
}

static void check_batch(struct decoder *decoder, struct batch *batch, uint64_t bits)
{
	struct slot *slots = batch->slots;

	for (uint32_t i = 0; i < batch->count; i++) {
		require(!i || batch->at[i] > batch->at[i - 1], "positions rise");
		require(batch->at[i] + batch->head[i] <= bits, "events stay in their packet");
		bool with_head = batch_slots(batch, i) != NULL;
		uint64_t found = with_head ? walk_event(decoder, batch, i) : 0;
		batch->slots = NULL;
		uint64_t alone = walk_event(decoder, batch, i);
		batch->slots = slots;
		require(!with_head || found == alone, "values are the same with and behind heads");
	}
}

static void check_packet(const struct stream *stream, struct decoder *decoder, struct batch *batch,
			 const struct packet_info *info)
{
	struct error err = {0};
	uint32_t events = 0, capacity = BATCH_MIN;
	bool again = events == 0;
	struct mark mark;

	if (!ctf_decoder_open(decoder, info, &err)) {
		require(err.text[0], "an error says what it is");
		return;
	}
	for (enum step step = STEP_ITEM; step == STEP_ITEM;) {
		batch->capacity = capacity;
		batch->values.ends = false;
		ctf_decoder_mark(decoder, &mark);
		step = ctf_decoder_next(decoder, batch, &err);
		require(batch->count <= batch->capacity, "a batch holds what it can");
		require(step != STEP_ITEM || batch->count, "a batch that is given is not empty");
		require(step != STEP_ERROR || err.text[0], "an error says what it is");
		check_batch(decoder, batch, source_size(stream->sources[0]) * 8 + PIECE_ALIGN_MAX);
		if (again && batch->count) { /* decode again from a mark */
			uint32_t count = batch->count;
			again = false;
			ctf_decoder_seek(decoder, &mark);
			step = ctf_decoder_next(decoder, batch, &err);
			require(batch->count == count, "a mark leads back");
		}
		events += batch->count;
		capacity = capacity < BATCH_MAX ? capacity * 2 : BATCH_MAX;
	}
	require(info->rec.events == UINT32_MAX || info->rec.events == events,
		"a record's count is right");
	ctf_decoder_leave(decoder);
}

static void check_stream(struct stream *stream)
{
	struct decoder *decoder = ctf_decoder_new(stream);
	struct batch *batch = batch_new(BATCH_MAX, 200, NULL);
	struct packet_info info;
	struct scan scan = {0};
	struct error err = {0};
	uint64_t end = 0;
	uint32_t round = 0; /* packets that step back in the file begin another one */
	enum step step;

	while ((step = ctf_scan(stream, &scan, &info, &err)) == STEP_ITEM) {
		require(info.rec.off + packet_bytes(&info) <= source_size(stream->sources[0]),
			"records lie in the file");
		if (info.rec.flags & (PACKET_DOUBLED | PACKET_OTHER))
			continue;
		check_packet(stream, decoder, batch, &info);
		/* what no header describes holds no events; behind a copy it lies anywhere */
		if (info.rec.flags & PACKET_DAMAGED && !info.rec.events)
			continue;
		if (info.rec.source != round)
			end = 0;
		round = info.rec.source;
		require(info.rec.off >= end || info.rec.flags & PACKET_PIECE,
			"packets do not overlap");
		end = info.rec.off + packet_bytes(&info);
	}
	require(step == STEP_END || err.text[0], "an error says what it is");
	batch_free(batch);
	ctf_decoder_free(decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t which = size ? data[0] % DESCRIPTIONS : 0;
	struct error err = {0};

	if (size < 2)
		return 0;
	if (!traces[which])
		build(which);
	struct stream *stream = traces[which]->streams[0];
	struct ctf_stream_state *state = stream->priv;
	state->class = ctf_stream_class_of(parts[which], data + 1, size - 1, &state->instance,
					   &state->has_instance, &err);
	if (!state->class)
		return 0;
	stream->clock = state->class->clock;
	stream->has_time = state->class->has_clock;
	stream->sources[0] = source_over("fuzz", data + 1, size - 1);
	state->order = ctf_order_new();
	state->equal_size = ctf_equal_size(stream, &state->first_number);
	check_stream(stream);
	ctf_order_free(state->order);
	source_close(stream->sources[0]);
	stream->sources[0] = NULL;
	return 0;
}
