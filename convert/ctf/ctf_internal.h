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
 * A folder of the output is what one part of the source becomes. Classes are made when their first
 * event comes, so metadata is written last, and holds what the data streams hold.
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
	bool is_2010;     /* files are sections by their names, which have one clock */
	unsigned numbers; /* a bit per enum ctf_number: those that may stand in packet contexts */
	uint32_t header;  /* bytes */
	uint64_t far;     /* cycles between two events of a packet at most */
	/* Appends the header of a packet that is opened. */
	void (*open)(struct written_stream *stream);
	/* Appends the header of an event, whose time is stream->clock; `last`: the one before. */
	void (*event)(struct written_stream *stream, const struct written_class *class,
		      uint64_t last);
	/* What is left to do when it is closed; NULL: nothing, and it may be written in parts. */
	bool (*seal)(struct ctf_writer *writer, struct written_stream *stream, struct error *err);
};
extern const struct ctf_packing ctf_packing, ctf_packing_2010;

/* A language of metadata. */
struct ctf_language {
	struct ctf_means means;
	const struct ctf_packing *packing;
	/* The text of the metadata. */
	void (*metadata)(const struct ctf_folder *folder, struct buf *out);
	/* Makes the metadata file of it, in place; NULL: it is the file. */
	bool (*pack)(const struct ctf_folder *folder, struct buf *text, struct error *err);
};
extern const struct ctf_language ctf_tsdl, ctf_json, ctf_2010;

struct written_class {
	const struct event_class *from;
	struct written_stream_class *stream;
	struct wire *context, *payload; /* NULL: nothing in it */
	uint32_t id;
	struct written_class *other; /* the same class in another stream class */
	struct written_class *next;  /* of the stream class, by id */
};

/* Numbers that packets of a stream class have in their contexts, in this order, where they do. */
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
	int32_t clock;                 /* into trace->clocks; -1: none, events have no time */
	struct wire *context, *common; /* of packets; of all events. NULL: nothing in it */
	struct wires *wires;           /* what events' own classes refer to */
	bool own_common;               /* `common` is all classes' own one, which is common_from */
	const struct field_class *common_from;
	struct written_class *first;
	uint32_t nclasses;
	const char *name; /* 2010: of the section; else NULL: it is in the names of files */
	bool counts;      /* some event was discarded */
};

struct ctf_clock {
	const char *name; /* an identifier, which no other clock has */
	struct timebase base;
	const struct clock *from; /* NULL: the one of nanoseconds */
};

struct ctf_folder {
	const struct part *part;
	const char *path; /* inside the output, "" its top */
	struct ctf_writer *writer;
	uint8_t uuid[16];
	struct nameset keys, files; /* of stream classes; of streams */
	struct nameset sections;    /* 2010: their names */
	bool numbered;              /* 2010: files have numbers of streams, none of CPUs */
	bool has_clock;             /* 2010: `clock` is that of all streams */
	int32_t clock;
	struct written_stream_class **classes; /* by number in `keys` */
	size_t nclasses, capacity;
};

/* One data stream file. */
struct written_stream {
	const struct stream *from;
	struct written_stream_class *class;
	char *file;        /* inside the output */
	const char *shown; /* the source's name, where the file's is another; else NULL */
	struct out out, index;
	bool has_file, has_index;
	struct encoder encoder;
	struct buf entries; /* of the index, that wait */
	size_t head;        /* bytes of the packet's header and context */
	uint64_t packet_at; /* bytes in the file */
	bool open;          /* a packet is */
	bool any;           /* some packet was written */
	bool before_all;    /* its events hold from the start */
	int32_t cpu;
	nstime first, last; /* times of the packet that is open; last: of the packet before it */
	uint64_t clock;     /* cycles of the last event */
	uint64_t discarded, sequence;
	nstime begin,
		end;   /* what a loss asks of the next packet; NSTIME_MIN, NSTIME_MAX: nothing */
	nstime covers; /* until then; NSTIME_MIN: it says nothing */
	bool unsaid;   /* without an event its packets' contexts have no values: it is left out */
	bool owed;     /* a loss is told by the next packet, which there must be */
	struct buf context; /* the source's members of the packet's context */
	uint64_t context_bits;
};

enum { STATE_CLASSES = 6 * 6 * 6 * 6 }; /* at most */

struct ctf_writer {
	struct convert of;
	const struct ctf_language *language;
	struct arena *arena;
	struct ctf_folder *folders; /* by part */
	/* By source stream, and the state's behind them; NULL: nothing of it was written. */
	struct written_stream **streams;
	struct written_class **classes; /* likewise, chained by `other` */
	struct ctf_clock *clocks;   /* by source clock, and one of nanoseconds behind them */
	size_t flush_at;            /* bytes that wait in a stream */
	struct encoder scratch;
	uint64_t wrapped;
	struct stream state_stream; /* of the values that the beginning has; no name: none yet */
	struct event_class *state_classes[STATE_CLASSES];
};

/* ctf.c, for the languages: a flag for each of writer->clocks, which the caller frees. */
bool *ctf_clocks_used(const struct ctf_folder *folder);

/* Streams of the folder that are shown under another name than their files', in their order; the
   one behind `before`, NULL at first and in the end. */
const struct written_stream *ctf_next_shown(const struct ctf_folder *folder,
					    const struct written_stream *before);
/* ctf_tsdl.c, for both languages of text: entries that say who wrote it, and what streams show. */
void ctf_add_own_env(struct buf *out, const struct ctf_folder *folder);
/* Is the stream's name the path of one of its files, from the folder that was opened? */
bool ctf_is_path(const struct stream *stream);
const char *ctf_base_of(const char *path); /* the name behind the last slash */
/* Letters, digits and a few signs; no file that the format or a shell takes for something else. */
void ctf_add_plain(struct buf *out, const char *name);

/* ctf_2010.c: finds out whether the names of a part's streams are SECTION_CPU */
void ctf_2010_number_files(struct ctf_writer *writer);
/* The section of a stream: name, as the source has it, and the file's number; -1: it has none. */
void ctf_2010_section(const struct ctf_folder *folder, const struct stream *stream,
		      struct buf *section, int64_t *number);
MUST_CHECK bool ctf_2010_pack(const struct ctf_folder *folder, struct buf *text, struct error *err);

/* Of the stream, in order of which streams are read: the state's comes before all others. */
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
/* Closes the last packet at `until`, or at its last event where that is later. */
MUST_CHECK bool ctf_stream_finish(struct ctf_writer *writer, struct written_stream *stream,
				  nstime until, struct error *err);
void ctf_stream_release(struct written_stream *stream);

/* The base of the times that were written, which both languages print of a clock. */
static inline const struct ctf_clock *ctf_clock_of(const struct written_stream_class *class)
{
	return class->clock < 0 ? NULL : &class->folder->writer->clocks[class->clock];
}

#endif
