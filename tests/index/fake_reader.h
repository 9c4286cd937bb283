/*
 * fake_reader.h - a tiny trace format for tests of the index, written as a test lists it
 *
 * A trace is a folder with a file `fake.trace` and one file per stream and source. Packets are
 * written as listed, so headers may lie, packets may overlap, be unsorted, empty, damaged,
 * scattered over extents or cut into pieces, and a file may grow or change between two openings.
 *
 *     fake_write(dir, streams, n);                  the folder, all packets
 *     fake_append(dir, &streams[0], packets, n);    a file grows
 *     struct trace *trace = fake_open(dir, NULL);   as trace_open() does
 */
#ifndef TESTS_INDEX_FAKE_READER_H
#define TESTS_INDEX_FAKE_READER_H

#include "engine/reader.h"
#include "engine/trace.h"

enum { FAKE_CLASSES = 8 }; /* event classes "class0".."class7", payload struct { u64 v; } */

struct fake_event {
	nstime time;
	uint32_t class;
	bool no_time; /* head flag; `time` should be that of the event before it */
	uint64_t v;
};

/* Zero is the default of all but the bounds: set them, or use fake_packet_over(). */
struct fake_packet {
	nstime min, max;                 /* as listed; may lie */
	const struct fake_event *events; /* in file order */
	uint32_t nevents;
	uint32_t flags;     /* PACKET_...; UNSORTED and DESCENDING are up to the test */
	uint64_t seq, lost; /* raw, as in the record; PACKET_NONE: none */
	uint32_t source;    /* packets of a stream must list sources in rising order */
	bool has_cpu;       /* else the record's CPU is the stream's */
	bool hide_count;    /* the record does not know how many events there are */
	int32_t cpu;
	uint32_t extent_events; /* events per extent, 0: one extent; not with pieces */
	uint32_t gap;           /* bytes between two extents */
	uint32_t piece_events;  /* scan cuts into pieces of so many events, 0: whole */
	uint32_t damage_after;  /* decoding fails after so many events, 0: never */
	bool bad_magic;         /* scan and packet_at refuse it: the rest of the source is lost */
};

struct fake_stream {
	const char *name;
	int32_t cpu;    /* -1 unknown */
	bool no_time;   /* times are ordinals */
	bool computed;  /* offers records by number; needs packet_bytes */
	bool open_last; /* the last packet of a file is OPEN and listed to end 1000 ns later */
	bool pieces;    /* stream->pieces; set it when a packet has piece_events */
	bool shared;    /* its packets are in one file, `shared.0`, with those of other streams */
	bool spill;     /* its bytes are read from a copy in memory, which has no path */
	uint32_t packet_bytes; /* every packet is padded to this size; 0: not padded */
	enum lost_kind lost_kind;
	uint8_t lost_bits, seq_bits;
	const struct fake_packet *packets;
	size_t npackets;
};

extern const struct reader fake_reader;

/* A packet of these events with their true min and max, without seq and lost, all else zero. */
struct fake_packet fake_packet_over(const struct fake_event *events, uint32_t nevents);

/* All of these fail the test on errors of the file system. */
void fake_write(const char *dir, const struct fake_stream *streams, size_t nstreams);
void fake_append(const char *dir, const struct fake_stream *stream,
		 const struct fake_packet *packets, size_t npackets);
struct trace *fake_open(const char *dir, const struct notices *notices); /* adds the reader */
char *fake_folder(void);        /* a new empty folder; free with fake_remove() */
void fake_remove(char *folder); /* with all in it */

#endif
