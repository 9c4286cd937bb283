/*
 * ctf_internal.h - what the files of the CTF reader share
 *
 *     ctf_open.c    folders → parts and streams
 *     input.c       parses the text behind "ctf," in --input
 *     gather.c      files with packets of several streams, or with other bytes between packets
 *     part.c        one description → clocks, event classes, layouts
 *     roles.c       which field is the packet's size, begin, CPU, ...
 *     packet_head.c header and context of one packet → sizes, times, counters
 *     own.c         descriptions of traces that yore wrote
 *     cpus.c        a stream whose events name their CPU → a stream per CPU
 *     order.c       sorts packets that are out of order in their files, and finds copies
 *     sections.c    the channel of each stream
 *     ctf_scan.c    a stream's packets → packet records, corrected; pieces of huge packets
 *     ctf_decode.c  opens one packet, decodes fields
 *     heads.c       event headers → heads, with values if the batch has room for them
 *     rfc_*.c       the proposal of 2010: see rfc.h
 */
#ifndef ENGINE_CTF_CTF_INTERNAL_H
#define ENGINE_CTF_CTF_INTERNAL_H

#include "engine/columns/column.h"
#include "engine/ctf/description.h"
#include "engine/ctf/rfc.h"
#include "engine/layout.h"
#include "engine/reader.h"

#define CTF_MAGIC UINT32_C(0xc1fc1fc1)

/* Members of the packet context that the format gives a meaning (CTF 1.8, 5.2 and 8.1). */
enum packet_member {
	MEMBER_PACKET_SIZE,
	MEMBER_CONTENT_SIZE,
	MEMBER_BEGIN,
	MEMBER_END,
	MEMBER_DISCARDED,
	MEMBER_SEQUENCE,
	MEMBER_CPU,
	MEMBER_COUNT
};

/* The role (enum ctf_role) of each packet_member. */
extern const uint16_t ctf_member_roles[MEMBER_COUNT];

/* Bits. Pieces of huge packets begin at multiples of it, so alignments up to it stay valid. */
enum { PIECE_ALIGN_MAX = 4096 * 8 };

enum head_shape {
	HEAD_GENERAL, /* any other header: decoded through its layout */
	HEAD_FLAT,    /* whole-byte id and timestamp at constant places; either may be missing */
	HEAD_COMPACT, /* LTTng: 5 bits of id, 27 of time, or 31 and the long forms */
	HEAD_LARGE,   /* LTTng: 16 bits of id, 32 of time, or 65535 and the long forms */
	HEAD_TYPE_1,  /* 2010: 5 bits of id, 27 of time; behind id 31 the long forms */
	HEAD_TYPE_2   /* 2010: 32 bits of time, 16 of id; behind id 65535 the long forms */
};

struct head_flat {
	uint8_t id_at, id_bytes, time_at, time_bytes, bytes;
};

struct ctf_class {                       /* an event class, as the head loops need it */
	const struct event_class *class; /* NULL: no such id */
	const struct layout *layout;     /* class->layout; copied, so that one cache line has all */
	uint64_t constant_bits;
	uint64_t reach; /* bits from the body's begin that the loads of `prefix` may touch */
	const struct layout_prefix *prefix;    /* NULL: some field has no constant place */
	const struct layout_integer *integers; /* of the prefix */
	uint32_t index, nslots, ngroups;
	bool others;   /* the prefix has other fields than integers */
	bool constant; /* every event has constant_bits */
	bool values;   /* no field is lazy: values may be decoded with the heads */
};

struct ctf_cpu_place { /* the field of an event that says its CPU */
	struct field_path path;
	struct column_place column;
	bool has_column; /* false: only decoding the event's fields gives the value */
};

struct ctf_stream_class {
	const struct ctf_stream *description;
	struct ctf_part *part;
	struct layout *packet; /* header and context */
	uint32_t context_base; /* first slot of the context */
	const struct field_class *member[MEMBER_COUNT]; /* NULL: the context has none */
	bool short_begin;    /* timestamp_begin has less than 64 bits: the scan carries the clock */
	bool context_varies; /* members may be missing in some packets, or stand there twice */
	bool uncut; /* an alignment exceeds PIECE_ALIGN_MAX: packets are not cut into pieces */
	const struct field_class *before_all; /* sets PACKET_BEFORE_ALL in yore's traces; or NULL */
	const struct field_class *magic; /* NULL: the header does not begin with a magic number */
	uint64_t head_bytes;             /* size of a packet's header and context; 0: it varies */
	enum head_shape shape;
	struct head_flat flat;
	bool big_endian;	/* of the header's integers */
	uint32_t head_align;	/* bits; of the event header */
	uint32_t long_align;    /* bits; 2010: of a 64-bit integer in the long forms */
	/* 2010: the event context, if it has the payload's size; else NULL */
	const struct layout *context;
	struct layout *header; /* NULL: there is none */
	struct field_class *header_class;
	bool rotated;           /* its files are named CHANNEL_CPU_COUNT */
	bool header_needed;	/* some field refers to the header: decode it again with the fields */
	struct ctf_class *by_id;
	uint64_t nids;
	bool dense;           /* by_id is indexed by the id; else sorted by id, for bisection */
	uint32_t event_slots; /* slots of the largest event */
	/* Where events say their CPU, by class_index - first_class; NULL: some class does not. */
	struct ctf_cpu_place *cpu_place;
	uint32_t first_class;
	int32_t clock;		/* into trace->clocks, -1 none */
	bool has_clock;
};

enum ctf_quirk {
	QUIRK_LATE_EVENTS = 1 << 0, /* events later than timestamp_end */
	QUIRK_ZERO_END = 1 << 1,    /* timestamp_end may be 0 */
	QUIRK_EARLY_FIRST = 1 << 2  /* the first event may precede timestamp_begin */
};

struct ctf_part {
	struct trace *trace;
	struct part *part;
	struct ctf_description description;
	struct layout *header; /* packet header alone: to find the stream class */
	struct ctf_stream_class *classes; /* parallel to description.streams */
	uint32_t registers;
	unsigned quirks;
	bool is_own;   /* yore wrote it */
	bool is_by_cpu;                  /* its tracer is known to write one stream per CPU */
	bool gathered;                   /* gather.c found its packets in a capture or an image */
	struct ctf_reached *reached;     /* how far gather.c read a growing file; NULL: none */
	size_t first_stream, end_stream; /* its streams: trace->streams[first_stream, end_stream) */
	/* 2010: a notice of unknown event ids, or of wrong sizes in events, was already given */
	_Atomic bool told_unknown, told_sizes;
	_Atomic bool told_falls; /* a notice that a clock stepped back in a packet was given */
};

/* The clock of a class with has_clock. --offset shifts it once the whole trace is open. */
static inline const struct timebase *ctf_timebase(const struct ctf_stream_class *class)
{
	return &class->part->trace->clocks[class->clock].base;
}

struct ctf_index_entry { /* of an LTTng index file, in bytes and cycles */
	uint64_t off, len, content_bits, begin, end, discarded, seq;
};

struct ctf_source { /* LTTng's index of one stream file */
	struct source *index; /* NULL: there is none, or it does not fit the file */
	uint32_t entry_bytes;
	uint64_t nentries;
};

enum ctf_place_kind {
	PLACE_PACKET,
	PLACE_DOUBLED, /* a copy of a packet that is listed before it */
	PLACE_OTHER,   /* a packet of another session */
	PLACE_DAMAGED  /* bytes up to the next good packet; len 0: none follows */
};

struct ctf_place {         /* of a packet, in a stream whose packets do not lie in order */
	uint64_t off, len; /* bytes of the source */
	uint64_t begin;    /* cycles */
	int64_t number;    /* its sequence number, extended across wraps of the counter */
	uint32_t source;
	uint32_t round; /* how often the list has stepped back in the sources */
	enum ctf_place_kind kind;
};

struct ctf_order;

/* A stream's priv. */
struct ctf_stream_state {
	const struct ctf_stream_class *class;
	uint64_t instance;
	bool has_instance;
	struct ctf_source *sources; /* parallel to stream->sources */
	uint64_t equal_size;        /* bytes of each packet, by samples at open; 0: they differ */
	uint64_t first_number;      /* if equal_size: sequence number of the first packet */
	bool by_cpu;                /* the decoder gives only the events of stream->cpu: cpus.c */
	struct ctf_order *order;    /* shared by all streams that cpus.c made of one */
};

struct ctf_packet_head {
	uint64_t packet_bits, content_bits; /* from the packet's first byte */
	uint64_t events_at;		    /* bits: where the first event may begin */
	uint64_t begin, end;		    /* cycles */
	uint64_t discarded, seq;            /* PACKET_NONE: the packet does not have it */
	int32_t cpu;
	unsigned begin_bits; /* of timestamp_begin */
	uint8_t seq_bits;    /* 2010: significant bits of seq; else 0 */
	struct rfc_coding coding; /* 2010: how the content is compressed, encrypted, summed up */
	bool has_begin, has_end, has_size;
	bool other;       /* the packet has another UUID than the metadata: `uuid` */
	uint8_t uuid[16]; /* if `other` */
	bool before_all;  /* its events have no time and hold from the start: PACKET_BEFORE_ALL */
};

static inline const struct ctf_stream_state *stream_state(const struct stream *stream)
{
	return stream->priv;
}

/* Is the trace still being written? See struct trace_options. */
static inline bool ctf_grows(const struct stream *stream)
{
	return stream_state(stream)->class->part->trace->grows;
}

/*
 * Returns the clock (cycles) after a timestamp field of `bits` bits with this value, when it was
 * `clock` before: the value replaces the low bits, and a smaller one means that they wrapped once.
 */
static inline uint64_t clock_update(uint64_t clock, uint64_t value, unsigned bits)
{
	if (bits >= 64)
		return value;
	uint64_t modulus = UINT64_C(1) << bits, low = clock & (modulus - 1);
	return clock - low + value + (value < low ? modulus : 0);
}

/*
 * False, and *err: the packet has another UUID than its CTF 2 metadata stream and must not be read.
 * Always true in CTF 1.8, and for gather.c's files, whose lists mark such packets PLACE_OTHER.
 */
MUST_CHECK bool packet_head_is_own(const struct ctf_part *part, const struct ctf_packet_head *head,
				   struct error *err);
/*
 * Decodes header and context, which begin at data[0]; `size` bytes are there, and `whole` bytes
 * from the packet's start to the end of its file. `slots` has room for layout_slots(class->packet).
 * False with err->kind ERR_RANGE: more bytes are needed; ERR_FORMAT: damage.
 */
MUST_CHECK bool packet_head_decode(const struct ctf_stream_class *class, const uint8_t *data,
				   size_t size, uint64_t whole, struct slot *slots,
				   uint64_t *registers, struct ctf_packet_head *out,
				   struct error *err);
/* The same for the packet at byte `offset` of a source, reading as few bytes as possible. */
MUST_CHECK bool packet_head_of(const struct ctf_stream_class *class, struct source *source,
			       uint64_t offset, struct ctf_packet_head *out, struct error *err);
MUST_CHECK bool packet_head_read(const struct stream *stream, uint32_t source, uint64_t offset,
				 struct ctf_packet_head *out, struct error *err);

/*
 * ctf_open.c: returns the stream class of the packet at data[0..size), by its header, and the
 * stream instance id if there is one. NULL and *err: the metadata has no such stream class.
 */
MUST_CHECK const struct ctf_stream_class *
ctf_stream_class_of(const struct ctf_part *part, const uint8_t *data, size_t size,
		    uint64_t *instance, bool *has_instance, struct error *err);

/* own.c: did yore write the trace? Then ctf_mend_own() undoes what engine/ctf_own.h describes. */
bool ctf_is_own(const struct ctf_description *description);
void ctf_mend_own(struct ctf_description *description, struct arena *arena);
/* The original name of the stream with this instance id; NULL: it is named by its file. */
const char *ctf_own_name(const struct ctf_description *description, uint64_t instance);

/* cpus.c: finds the field that says the CPU in each class. Call when classes are compiled. */
void ctf_find_cpu_places(struct ctf_stream_class *class);
/*
 * Limits the stream to one CPU and adds a stream with the same sources for each other CPU that its
 * events name. Does nothing if the events name no CPU, or an impossible one.
 */
void ctf_split_by_cpu(struct trace *trace, struct stream *stream);
/* Returns the CPU that event i of the batch names. */
uint64_t ctf_event_cpu(struct decoder *d, const struct batch *batch, uint32_t i);

/* order.c: the order of a stream's packets, found at the first call of ctf_places(). */
struct ctf_order *ctf_order_new(void);
void ctf_order_free(struct ctf_order *order);
/* Continues from the order found when this growing trace was opened before. Set sources first. */
void ctf_order_go_on(const struct stream *stream);
/* Tells that an earlier scan found the packets in front of byte `off` of the source in order. */
void ctf_order_from(const struct stream *stream, uint32_t source, uint64_t off);
/* The sorted packets; NULL: files have them in order. Thread-safe; lives as long as the trace. */
const struct ctf_place *ctf_places(const struct stream *stream, size_t *count);
/* Counts packets that several files of the stream have; 0 if the files' times do not overlap. */
size_t ctf_doubled_in_files(const struct stream *stream);

/*
 * ctf_scan.c, for order.c: reads the head of the packet at `off` from LTTng's index if it is
 * usable, else from the packet. The caller sets *entry to 0 at the begin of a source and then
 * passes it unchanged; the function sets it to UINT64_MAX when it ceases to use the index.
 */
MUST_CHECK bool ctf_head_at(const struct stream *stream, uint32_t source, uint64_t off,
			    uint64_t *entry, struct ctf_packet_head *out, struct error *err);
/* Finds the first good packet at or behind `from` by its magic number; false: there is none. */
bool ctf_search_packet(const struct stream *stream, uint32_t source, uint64_t from, uint64_t *found,
		       struct ctf_packet_head *head);
/* Does the head have the packet's size, and does the whole packet lie in the file? */
bool ctf_is_whole(const struct stream *stream, uint32_t source, uint64_t off,
		  const struct ctf_packet_head *head);
/* Is there a packet at `off` with sizes, and behind it the file's end or the next packet? */
bool ctf_packet_fits(const struct stream *stream, uint32_t source, uint64_t off,
		     struct ctf_packet_head *head);

/* Packets of one stream, in the order in which they were found, for ctf_order_list(). */
struct ctf_listed {
	struct ctf_packet_head head;
	struct ctf_place place;
};

struct ctf_listing {
	struct ctf_listed *items;
	size_t count, capacity;
};
void ctf_listing_add(struct ctf_listing *listing, const struct ctf_listed *item);
/*
 * Sorts the listed packets into those that ctf_order_take() took over; ctf_places() returns the
 * result. The last `nunsettled` may change when the file grows. Sets stream->anew.
 */
void ctf_order_list(struct stream *stream, struct ctf_listing *listing, size_t nunsettled);
/*
 * Moves the packets listed when the trace was opened before to this stream, except the unsettled
 * ones, whose bytes *dropped counts. False: packets have no times, or none were listed.
 */
bool ctf_order_take(const struct stream *stream, const struct stream *before, uint64_t *dropped);
/* Do packet contexts have begin and end in all bits of the clock? */
bool ctf_tells_times(const struct ctf_stream_class *class);
/* How many of ctf_places() stay the same when the trace is opened next, unless it sets `anew`. */
size_t ctf_firm_places(const struct stream *stream);
/* False: the source has packets, and all of them have another UUID than the metadata. */
bool ctf_has_own(const struct stream *stream, uint32_t source);

/*
 * ring.c: if the file is a ring buffer of LTTng-UST, rearranges *source to a stream file with the
 * packets that the consumer had not yet read (0 bytes: none). Leaves other files alone. Reports
 * damaged packets as damage of the trace.
 */
MUST_CHECK bool ring_arrange(struct trace *trace, struct source *source, struct error *err);

/* input.c: what follows "ctf," in --input. */
struct ctf_input {
	const char *metadata; /* a file's path; NULL: the file `metadata` of each folder */
	const char *shm;      /* a second folder of the trace (lttng --shm-path); NULL: none */
	uint64_t prefix;      /* bytes before each packet */
	bool has_prefix, scan;
	bool datagrams; /* each file, or each record of one file, is a datagram: see gather.c */
};
MUST_CHECK bool ctf_input_parse(const char *settings, struct arena *arena, struct ctf_input *out,
				struct error *err);

/*
 * gather.c: makes streams of the packets of all `count` sources, which the trace owns already.
 * `names` are for messages; framed: the one source has datagrams behind their lengths. Skips bytes
 * between packets; reports packets that it cannot read as damage.
 */
MUST_CHECK bool ctf_gather(struct ctf_part *part, struct source *const *sources,
			   const char *const *names, size_t count, bool framed,
			   const struct ctf_input *input, struct error *err);
void ctf_reached_free(struct ctf_reached *reached); /* NULL is fine */
/* ctf_open.c: fills the fields of a stream of this class, except its sources. */
void ctf_describe(struct stream *stream, const struct ctf_stream_class *class);

/* sections.c: names the sections of all streams of the part. */
void ctf_name_sections(struct ctf_part *part);

unsigned ctf_quirks(const struct ctf_description *description);
/* Is its tracer known to write streams of one CPU each? */
bool ctf_is_by_cpu(const struct ctf_description *description);
/* Corrects declarations that known tracers write wrong. Call before layouts are compiled. */
void ctf_mend_types(struct ctf_description *description);
/* Opens `index/<file>.idx` if it seems to fit the file, else gives a notice. */
void lttng_index_open(const char *folder, const char *file, uint64_t file_size,
		      const struct notices *notices, struct ctf_source *out);
/* Reads entry i; false: it cannot be read or is not plausible. */
bool lttng_index_entry(const struct ctf_source *index, uint64_t i, struct ctf_index_entry *out);

/* part.c: adds the part, its clocks and event classes. NULL and *err when a layout is impossible. */
MUST_CHECK struct ctf_part *ctf_part_add(struct trace *trace, const char *path,
					 const struct ctf_description *description,
					 const uint64_t identity[2], struct error *err);
MUST_CHECK bool ctf_open(struct trace *trace, const char *path, const char *settings,
			 enum source_mode mode, struct error *err);
void ctf_close(struct part *part);

bool ctf_goes_on(const struct stream *stream, const struct scan *scan);
MUST_CHECK enum step ctf_scan(const struct stream *stream, struct scan *scan,
			      struct packet_info *out, struct error *err);
/*
 * Returns the bytes of each packet if all seem to have one size, and the first one's sequence
 * number; 0: sizes differ. Called once, by ctf_open.c.
 */
uint64_t ctf_equal_size(const struct stream *stream, uint64_t *number);
bool ctf_computed(const struct stream *stream, uint64_t *count);
MUST_CHECK bool ctf_packet_at(const struct stream *stream, uint64_t i, struct packet_info *out,
			      struct error *err);

struct decoder *ctf_decoder_new(const struct stream *stream);
void ctf_decoder_free(struct decoder *decoder);
MUST_CHECK bool ctf_decoder_open(struct decoder *decoder, const struct packet_info *info,
				 struct error *err);
void ctf_decoder_leave(struct decoder *decoder);
MUST_CHECK enum step ctf_decoder_next(struct decoder *decoder, struct batch *batch,
				      struct error *err);
void ctf_decoder_prefetch(const struct decoder *decoder);
void ctf_decoder_mark(const struct decoder *decoder, struct mark *mark);
void ctf_decoder_seek(struct decoder *decoder, const struct mark *mark);
bool ctf_decoder_column(struct decoder *decoder, const struct batch *batch, const uint16_t *entries,
			uint32_t n, const struct column_place *place, uint64_t *values);
MUST_CHECK bool ctf_decoder_fields(struct decoder *decoder, const struct batch *batch, uint32_t i,
				   struct fields *out, struct error *err);
uint64_t ctf_event_bits(struct decoder *decoder, const struct batch *batch, uint32_t i);
/* For the scan: the position (bits of the packet) and the clock behind the last decoded event. */
void ctf_decoder_where(const struct decoder *decoder, uint64_t *at, uint64_t *clock);
/* Did a packet end at an event whose id has no class? */
bool ctf_decoder_lacks_class(const struct decoder *decoder);

/*
 * The carried bytes of a packet record. A PIECE has the offset of its packet, the clock at its
 * begin, its first bit in its first byte, and its end in bits of the packet. Other records have the
 * clock alone.
 */
struct ctf_carried {
	uint64_t packet_off, clock, end_bit;
	uint8_t first_bit;
};
enum { CARRIED_CLOCK = 8, CARRIED_PIECE = 25 };
void ctf_carried_write(const struct ctf_carried *from, bool piece, struct packet_info *info);
bool ctf_carried_read(const struct packet_info *info, struct ctf_carried *out);

#endif
