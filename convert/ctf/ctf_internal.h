/*
 * ctf_internal.h - what the files of the CTF writer share
 *
 *     ctf.c          source streams → streams of the output; the format's functions
 *     ctf_stream.c   packets of one stream, its file and its index
 *     ctf_2010.c     sections and packets of the 2010 proposal
 *     ctf_wire.c     field classes as they are written; ctf_names.c their names
 *     ctf_encode.c   values
 *     ctf_tsdl.c, ctf_json.c, ctf_2010_text.c   metadata in the languages
 *
 * Each part of the source becomes a folder of the output. A class is made when its first event
 * comes, so metadata is written last and describes exactly what the data streams have.
 */
#ifndef CONVERT_CTF_CTF_INTERNAL_H
#define CONVERT_CTF_CTF_INTERNAL_H

#include "convert/convert_internal.h"
#include "convert/ctf/ctf_wire.h"
#include "engine/base/arena.h"

struct ctf_folder;
struct written_class;
struct written_stream;
struct written_stream_class;
struct ctf_writer;

/* How packets are written in one version of the format. */
struct ctf_packing {
	bool is_2010;     /* file names have the section; a folder has one clock */
	unsigned numbers; /* a bit per enum ctf_number that packet contexts may have */
	uint32_t header;  /* bytes */
	uint64_t far;     /* greatest number of cycles between two events of a packet */
	/* Appends the header of a new packet. */
	void (*open)(struct written_stream *stream);
	/*
	 * Appends an event's header. Its time is stream->clock; `last`: that of the event before.
	 */
	void (*event)(struct written_stream *stream, const struct written_class *class,
		      uint64_t last);
	/*
	 * Compresses, sums and heads a packet that ends; NULL: not needed, and long packets may be
	 * written in pieces.
	 */
	bool (*seal)(struct ctf_writer *writer, struct written_stream *stream, struct error *err);
};
extern const struct ctf_packing ctf_packing, ctf_packing_2010;

/* A language of metadata. */
struct ctf_language {
	struct ctf_means means;
	const struct ctf_packing *packing;
	/* Appends the text of the metadata. */
	void (*metadata)(const struct ctf_folder *folder, struct buf *out);
	/* Turns the text into the metadata file, in place; NULL: the text is the file. */
	bool (*pack)(const struct ctf_folder *folder, struct buf *text, struct error *err);
};
extern const struct ctf_language ctf_tsdl, ctf_json, ctf_2010;

struct written_class {
	const struct event_class *from;
	struct written_stream_class *stream;
	struct wire *context, *payload; /* NULL: nothing in it */
	uint32_t id;
	struct written_class *other; /* the same class in another stream class */
	struct written_class *next;  /* next class of the stream class, by id */
};

/* Members of packet contexts, in this order; each stream class has some of them. */
enum ctf_number {
	NUMBER_BEGIN,
	NUMBER_END,
	NUMBER_CONTENT,
	NUMBER_PACKET,
	NUMBER_DISCARDED,
	NUMBER_SEQUENCE,
	NUMBER_CPU,
	NUMBER_BEFORE_ALL,
	NUMBER_TID,
	NUMBER_PID,
	NUMBER_RANK,
	NUMBER_APP,
	NUMBERS
};
struct ctf_number_kind {
	const char *name, *role; /* role: of CTF 2; NULL: none */
	uint32_t bits;
	bool is_signed, is_time;
};
extern const struct ctf_number_kind ctf_numbers[NUMBERS];

struct written_stream_class {
	struct ctf_folder *folder;
	uint32_t id;
	unsigned numbers;              /* bit per enum ctf_number */
	bool wide_ids;                 /* of 32 bits, else 16 */
	int32_t clock;                 /* index in writer->clocks; -1: none, events have no time */
	struct wire *context, *common; /* packet context; stream event context. NULL: empty */
	struct wires *wires;           /* the roots that event classes may refer to */
	bool own_common; /* all event classes share the stream event context common_from */
	const struct field_class *common_from;
	struct written_class *first;
	uint32_t nclasses;
	const char *name; /* 2010: the section's name; else NULL: file names have it */
	bool counts;      /* its streams lost events */
};

struct ctf_clock {
	const char *name; /* an identifier, unique among the clocks */
	struct timebase base;
	const struct clock *from; /* NULL: the clock that counts nanoseconds */
};

struct ctf_folder {
	const struct part *part;
	const char *path; /* relative to the output; "": the output itself */
	struct ctf_writer *writer;
	uint8_t uuid[16];
	struct nameset keys, files; /* taken keys of stream classes; taken file names */
	struct nameset sections;    /* 2010: names of sections */
	bool numbered;              /* 2010: numbers in file names are streams, not CPUs */
	bool has_clock;             /* 2010: `clock` is set; all streams use it */
	int32_t clock;
	struct written_stream_class **classes; /* by number in `keys` */
	size_t nclasses, capacity;
};

/* One data stream file. */
struct written_stream {
	const struct stream *from;
	struct written_stream_class *class;
	char *file;        /* path relative to the output */
	const char *shown; /* the source stream's name where the file's name differs; else NULL */
	struct out out, index;
	bool has_file, has_index;
	struct encoder encoder;
	struct buf entries; /* index entries that are not written yet */
	size_t head;        /* size of the packet's header and context in bytes */
	uint64_t packet_at; /* where the packet begins in the file */
	bool open;          /* a packet is open */
	bool any;           /* some packet was written */
	bool before_all;    /* its events hold before all others: they have no time */
	int32_t cpu;
	nstime first, last; /* open packet's begin; time of the last event or packet end */
	uint64_t clock;     /* cycles of the last event */
	uint64_t discarded, sequence;
	nstime begin,
		end; /* bounds that a loss sets for the next packet; NSTIME_MIN, NSTIME_MAX: none */
	nstime covers; /* end of the recorded range; NSTIME_MIN: not known */
	bool unsaid;   /* left out: no event, hence no values for the packet context */
	bool owed;     /* the next packet has to be written, since its counters tell of a loss */
	struct buf context; /* packet context members that come from the source */
	uint64_t context_bits;
};

enum { STATE_CLASSES = 6 * 6 * 6 * 6 }; /* at most */

struct ctf_writer {
	struct convert of;
	const struct ctf_language *language;
	struct arena *arena;
	struct ctf_folder *folders; /* by part */
	/* By source stream, then the stream of state; NULL: nothing was written. */
	struct written_stream **streams;
	struct written_class **classes; /* likewise, chained by `other` */
	struct ctf_clock *clocks;       /* by source clock, then the one that counts nanoseconds */
	size_t flush_at;                /* a stream that holds more bytes writes them */
	struct encoder scratch;
	uint64_t wrapped;
	struct stream state_stream; /* for values of attributes at the beginning; no name: unused */
	struct event_class *state_classes[STATE_CLASSES];
};

/* ctf.c, for the languages: which of writer->clocks the folder uses. The caller frees the array. */
bool *ctf_clocks_used(const struct ctf_folder *folder);

/*
 * Iterates, in order, over the folder's streams whose file name is not the stream's name. Pass NULL
 * first, then the stream before; NULL: no more.
 */
const struct written_stream *ctf_next_shown(const struct ctf_folder *folder,
					    const struct written_stream *before);
/*
 * ctf_tsdl.c, for both text languages: adds environment entries with the writer's name and the
 * names of streams.
 */
void ctf_add_own_env(struct buf *out, const struct ctf_folder *folder);
/* Is the stream's name the path of one of its files, relative to the folder that was opened? */
bool ctf_is_path(const struct stream *stream);
const char *ctf_base_of(const char *path); /* the name behind the last slash */
/* Appends the name with only letters, digits and a few signs left, safe as a file name. */
void ctf_add_plain(struct buf *out, const char *name);

/* ctf_2010.c: checks whether the names of a part's streams are SECTION_CPU, and sets `numbered` */
void ctf_2010_number_files(struct ctf_writer *writer);
/* The section of a stream: its name in the source, and the number in its file's name; -1: none. */
void ctf_2010_section(const struct ctf_folder *folder, const struct stream *stream,
		      struct buf *section, int64_t *number);
MUST_CHECK bool ctf_2010_pack(const struct ctf_folder *folder, struct buf *text, struct error *err);

/* stream_instance_id: the position of the stream, with the stream of state before all others. */
static inline uint64_t ctf_number(const struct written_stream *stream)
{
	const struct ctf_writer *writer = stream->class->folder->writer;

	return stream->from == &writer->state_stream ? 0 : stream->from->index + UINT64_C(1);
}

/* ctf_stream.c */
uint64_t ctf_bound_cycles(const struct written_stream *stream, nstime t);
MUST_CHECK bool ctf_stream_event(struct ctf_writer *writer, struct written_stream *stream,
				 const struct written_class *class, nstime t, int32_t cpu,
				 const struct fields *fields, struct error *err);
MUST_CHECK bool ctf_stream_loss(struct ctf_writer *writer, struct written_stream *stream,
				const struct event *loss, struct error *err);
/* Closes the last packet at `until`, or at its last event if that is later. */
MUST_CHECK bool ctf_stream_finish(struct ctf_writer *writer, struct written_stream *stream,
				  nstime until, struct error *err);
void ctf_stream_release(struct written_stream *stream);

/* The clock of a stream class, for the metadata; NULL: none. */
static inline const struct ctf_clock *ctf_clock_of(const struct written_stream_class *class)
{
	return class->clock < 0 ? NULL : &class->folder->writer->clocks[class->clock];
}

#endif
