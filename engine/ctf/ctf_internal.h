/*
 * ctf_internal.h - what the files of the CTF reader share
 *
 *     open.c        folders → parts and streams
 *     input.c       what --input says of where packets are
 *     gather.c      files that hold packets of any stream, or something else between them
 *     part.c        one description → clocks, event classes, layouts
 *     roles.c       what values are used for
 *     packet_head.c header and context of one packet → sizes, times, counters
 *     own.c         what yore itself wrote
 *     cpus.c        streams whose events say their CPU → a stream per CPU
 *     order.c       packets that do not lie in their order, or twice
 *     sections.c    the channel of each stream
 *     scan.c        a stream's packets → packet records, mended; pieces of huge ones
 *     decode.c      one packet, opened; fields
 *     heads.c       event headers → heads, with values where they are wanted
 *     rfc_*.c       what only the proposal of 2010 has: rfc.h
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

/* The role of each. */
extern const uint16_t ctf_member_roles[MEMBER_COUNT];

/* Bits; pieces of huge packets begin at such steps, so that every alignment up to it is kept. */
enum { PIECE_ALIGN_MAX = 4096 * 8 };

enum head_shape {
	HEAD_GENERAL, /* any tree, through its layout */
	HEAD_FLAT,    /* whole-byte id and timestamp at constant places; either may be missing */
	HEAD_COMPACT, /* LTTng: 5 bits of id, 27 of time, or 31 and the long forms */
	HEAD_LARGE,   /* LTTng: 16 bits of id, 32 of time, or 65535 and the long forms */
	HEAD_TYPE_1,  /* 2010: 5 bits of id, 27 of time; behind id 31 the long forms */
	HEAD_TYPE_2   /* 2010: 32 bits of time, 16 of id; behind id 65535 the long forms */
};

struct head_flat {
	uint8_t id_at, id_bytes, time_at, time_bytes, bytes;
};

struct ctf_class { /* of events, by id, as the head loops need it */
	const struct event_class *class; /* NULL: no such id */
	const struct layout *layout;	 /* class->layout, and more of it: one line of the cache */
	uint64_t constant_bits;
	uint64_t reach; /* bits that must be there for the loads of `prefix` */
	const struct layout_prefix *prefix; /* all of it, at constant places; NULL: it is not */
	const struct layout_integer *integers; /* of the prefix */
	uint32_t index, nslots, ngroups;
	bool others; /* the prefix has more than integers */
	bool constant;
	bool values; /* its slots tell all: they may be decoded with the heads */
};

struct ctf_cpu_place { /* in an event */
	struct field_path path;
	struct column_place column;
	bool has_column; /* else the event must be decoded */
};

struct ctf_stream_class {
	const struct ctf_stream *description;
	struct ctf_part *part;
	struct layout *packet; /* header and context */
	uint32_t context_base; /* first slot of the context */
	const struct field_class *member[MEMBER_COUNT]; /* NULL: the context has none */
	bool short_begin;    /* timestamp_begin has fewer than 64 bits: the clock is carried */
	bool context_varies; /* members may be missing in some packets, or stand there twice */
	bool uncut;	     /* some alignment is above PIECE_ALIGN_MAX */
	const struct field_class *before_all; /* of yore's own: packets say so; NULL: none does */
	const struct field_class *magic; /* the header's first member of that name, NULL none */
	uint64_t head_bytes; /* that reading a packet's head takes when that is constant, else 0 */
	enum head_shape shape;
	struct head_flat flat;
	bool big_endian;	/* of the header's integers */
	uint32_t head_align;	/* bits; of the event header */
	uint32_t long_align;    /* bits; 2010: of a 64-bit integer in the long forms */
	/* 2010: where the event context tells the payload's size, it alone; else NULL */
	const struct layout *context;
	struct layout *header; /* NULL: there is none */
	struct field_class *header_class;
	bool rotated;           /* its files are CHANNEL_CPU_COUNT */
	bool header_needed;	/* some field refers to the header: decode it again with the fields */
	struct ctf_class *by_id;
	uint64_t nids;
	bool dense;		/* by_id[id]; else sorted, to be bisected */
	uint32_t event_slots;	/* the most that any event takes */
	/* Where events say their CPU, by class_index - first_class; NULL: not all of them do. */
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
	bool is_by_cpu; /* its tracer is known to write streams that are of one CPU each */
	bool gathered; /* its packets come from a capture or an image: see gather.c */
	struct ctf_reached *reached;     /* likewise, of one file that grows; NULL: none */
	size_t first_stream, end_stream; /* its streams stand together */
	/* 2010: it was said that events have unknown ids, or tell wrong sizes */
	_Atomic bool told_unknown, told_sizes;
	_Atomic bool told_falls; /* that a clock stepped back inside a packet */
};

/* Of a class that has a clock. The clock is shifted (--offset) when all of its trace is open. */
static inline const struct timebase *ctf_timebase(const struct ctf_stream_class *class)
{
	return &class->part->trace->clocks[class->clock].base;
}

struct ctf_index_entry { /* of an LTTng index file, in bytes and cycles */
	uint64_t off, len, content_bits, begin, end, discarded, seq;
};

struct ctf_source { /* LTTng's index of one stream file */
	struct source *index; /* NULL: none, or none that fits */
	uint32_t entry_bytes;
	uint64_t nentries;
};

enum ctf_place_kind {
	PLACE_PACKET,
	PLACE_DOUBLED, /* a copy of a packet that is listed before it */
	PLACE_OTHER,   /* a packet of another session */
	PLACE_DAMAGED  /* up to where the next packet can be trusted; len 0: none follows */
};

struct ctf_place {         /* of a packet, in a stream whose packets do not lie in order */
	uint64_t off, len; /* bytes of the source */
	uint64_t begin;    /* cycles */
	int64_t number;    /* its sequence number, counted on where the counter wraps */
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
	uint64_t equal_size;	    /* bytes of every packet as far as open saw, 0: they differ */
	uint64_t first_number;      /* when they are equal: of the first packet */
	bool by_cpu;                /* only the events of stream->cpu are its own: cpus.c */
	struct ctf_order *order;    /* streams made per CPU share the first one's */
};

struct ctf_packet_head {
	uint64_t packet_bits, content_bits; /* from the packet's first byte */
	uint64_t events_at;		    /* bits: where the first event may begin */
	uint64_t begin, end;		    /* cycles */
	uint64_t discarded, seq;	    /* PACKET_NONE: not there */
	int32_t cpu;
	unsigned begin_bits; /* of timestamp_begin */
	uint8_t seq_bits;    /* 2010: significant ones of seq; else 0 */
	struct rfc_coding coding; /* 2010: of the content, which is then read as a whole */
	bool has_begin, has_end, has_size;
	bool other; /* its UUID is not the metadata's, but */
	uint8_t uuid[16];
	bool before_all; /* its events hold from the start */
};

static inline const struct ctf_stream_state *stream_state(const struct stream *stream)
{
	return stream->priv;
}

/* Its writer is at work: see struct trace_options. */
static inline bool ctf_grows(const struct stream *stream)
{
	return stream_state(stream)->class->part->trace->grows;
}

/* The clock after an integer of `bits` bits with this value (spec sheet: partial time stamps). */
static inline uint64_t clock_update(uint64_t clock, uint64_t value, unsigned bits)
{
	if (bits >= 64)
		return value;
	uint64_t modulus = UINT64_C(1) << bits, low = clock & (modulus - 1);
	return clock - low + value + (value < low ? modulus : 0);
}

/*
 * CTF 2 packets have the UUID of their metadata stream. In CTF 1.8 a file without any that has it
 * is read. False: such a packet is not to be read.
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
/* The same from a source, reading as little as it can. `offset`: of the packet. */
MUST_CHECK bool packet_head_of(const struct ctf_stream_class *class, struct source *source,
			       uint64_t offset, struct ctf_packet_head *out, struct error *err);
MUST_CHECK bool packet_head_read(const struct stream *stream, uint32_t source, uint64_t offset,
				 struct ctf_packet_head *out, struct error *err);

/* open.c, for others: whose class does the packet at data belong to? NULL and *err: none. */
MUST_CHECK const struct ctf_stream_class *
ctf_stream_class_of(const struct ctf_part *part, const uint8_t *data, size_t size,
		    uint64_t *instance, bool *has_instance, struct error *err);

/* own.c: did yore write the trace? Then its names mean what engine/ctf_own.h says: */
bool ctf_is_own(const struct ctf_description *description);
void ctf_mend_own(struct ctf_description *description, struct arena *arena);
/* The name that the stream of this instance id had; NULL: that of its file. */
const char *ctf_own_name(const struct ctf_description *description, uint64_t instance);

/* cpus.c: finds where events say their CPU, once the classes are compiled. */
void ctf_find_cpu_places(struct ctf_stream_class *class);
/*
 * Makes the stream that of one CPU, and adds one for each other CPU that its events name, with the
 * same sources. Where they name none, or one that cannot be, nothing is done.
 */
void ctf_split_by_cpu(struct trace *trace, struct stream *stream);
/* The CPU that event i of the batch says. */
uint64_t ctf_event_cpu(struct decoder *d, const struct batch *batch, uint32_t i);

/* order.c: what is known of the order of a stream's packets; found when it is asked for. */
struct ctf_order *ctf_order_new(void);
void ctf_order_free(struct ctf_order *order);
/*
 * What was found in the trace before, when the stream was shorter, holds on; its sources are set.
 */
void ctf_order_go_on(const struct stream *stream);
/* The stream's packets lie in their order up to the one at `off`, as a scan has shown before. */
void ctf_order_from(const struct stream *stream, uint32_t source, uint64_t off);
/* The packets in their order; NULL: they lie in it. Thread-safe; lives as long as the trace. */
const struct ctf_place *ctf_places(const struct stream *stream, size_t *count);
/* Packets that two of the stream's files have, when their times overlap. */
size_t ctf_doubled_in_files(const struct stream *stream);

/*
 * scan.c, for order.c: the head of the packet at `off`, from LTTng's index where one is usable,
 * else from the packet. *entry is 0 at the source's begin, then the function's; UINT64_MAX: the
 * head is the packet's.
 */
MUST_CHECK bool ctf_head_at(const struct stream *stream, uint32_t source, uint64_t off,
			    uint64_t *entry, struct ctf_packet_head *out, struct error *err);
/* The first packet at or behind `from` that can be trusted; false: there is none. */
bool ctf_search_packet(const struct stream *stream, uint32_t source, uint64_t from, uint64_t *found,
		       struct ctf_packet_head *head);
/* Does the packet at `off` say its size, and has the file all of it? */
bool ctf_is_whole(const struct stream *stream, uint32_t source, uint64_t off,
		  const struct ctf_packet_head *head);
/* A packet whose header says its sizes, and behind which the file ends or the next one begins. */
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
 * Puts the packets of a stream in order, in front of which ctf_order_take() may have put others;
 * ctf_places() gives them. The last `nunsettled` may change when the file grows. Sets stream->anew.
 */
void ctf_order_list(struct stream *stream, struct ctf_listing *listing, size_t nunsettled);
/*
 * Takes over the packets that were listed in the trace before, but for those that may change, which
 * have *dropped bytes. False: they cannot be.
 */
bool ctf_order_take(const struct stream *stream, const struct stream *before, uint64_t *dropped);
/* Do headers tell times that are those of the whole clock? */
bool ctf_tells_times(const struct ctf_stream_class *class);
/* So many of ctf_places() will be the same in the trace that is opened next, or that has anew. */
size_t ctf_firm_places(const struct stream *stream);
/* Has the source a packet with the metadata's UUID, or one that says none? */
bool ctf_has_own(const struct stream *stream, uint32_t source);

/*
 * ring.c: of a file that is a ring buffer of LTTng-UST, makes *source what a stream file would be
 * whose packets are those that were not read from it, of 0 bytes when there are none. Nothing is
 * done to other files. What is damaged is told.
 */
MUST_CHECK bool ring_arrange(struct trace *trace, struct source *source, struct error *err);

/* input.c: what follows "ctf," in --input. */
struct ctf_input {
	const char *metadata; /* NULL: the file of that name in each folder */
	const char *shm;      /* a folder that belongs to the trace, too; NULL none */
	uint64_t prefix;      /* bytes before each packet */
	bool has_prefix, scan;
	bool datagrams; /* with a packet or the next piece of one: files, or what one file has */
};
MUST_CHECK bool ctf_input_parse(const char *settings, struct arena *arena, struct ctf_input *out,
				struct error *err);

/*
 * gather.c: makes streams of the packets of all `count` sources, which the trace has taken. `names`
 * are shown; framed: the one source has datagrams behind their lengths. What lies between packets
 * is passed over, what cannot be read is told.
 */
MUST_CHECK bool ctf_gather(struct ctf_part *part, struct source *const *sources,
			   const char *const *names, size_t count, bool framed,
			   const struct ctf_input *input, struct error *err);
void ctf_reached_free(struct ctf_reached *reached); /* NULL is fine */
/* open.c: fills a stream of this class, but for its sources. */
void ctf_describe(struct stream *stream, const struct ctf_stream_class *class);

/* sections.c: names the sections of all streams of the part. */
void ctf_name_sections(struct ctf_part *part);

unsigned ctf_quirks(const struct ctf_description *description);
/* Is its tracer known to write streams whose packets, where they say a CPU, all say the same? */
bool ctf_is_by_cpu(const struct ctf_description *description);
/* Changes what known tracers declare wrong. Before layouts are compiled. */
void ctf_mend_types(struct ctf_description *description);
/* Opens `index/<file>.idx` when it seems to fit the file; a notice when it does not. */
void lttng_index_open(const char *folder, const char *file, uint64_t file_size,
		      const struct notices *notices, struct ctf_source *out);
/* Entry i; false when it cannot be read or makes no sense. */
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
 * Bytes of each packet when all seem to have one size, and *number of the first; 0 otherwise.
 * Called once, by open.
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
/* For the scan: position, clock and count behind the last event that was given. */
void ctf_decoder_where(const struct decoder *decoder, uint64_t *at, uint64_t *clock);
/* Had any packet that it decoded an event whose id no class has? */
bool ctf_decoder_lacks_class(const struct decoder *decoder);

/*
 * What a record's carried bytes say. A PIECE: offset of its packet, clock, first bit of the piece
 * in its first byte, and bits of the packet where it ends. Not a PIECE: the clock to begin with.
 */
struct ctf_carried {
	uint64_t packet_off, clock, end_bit;
	uint8_t first_bit;
};
enum { CARRIED_CLOCK = 8, CARRIED_PIECE = 25 };
void ctf_carried_write(const struct ctf_carried *from, bool piece, struct packet_info *info);
bool ctf_carried_read(const struct packet_info *info, struct ctf_carried *out);

#endif
