/* made.h - small traces, byte by byte, whose events are known */
#ifndef TESTS_LIB_MADE_H
#define TESTS_LIB_MADE_H

#include <stddef.h>
#include <stdint.h>

/*
 * CTF 1.8: two streams of MADE_PACKETS packets of 4096 bytes, four events each. Event e of packet p
 * of stream s is at made_time(s, p, e) and has the payload `count` 4 p + e; it is "tick" when e is
 * even, else "tock".
 */
enum { MADE_STREAMS = 2, MADE_PACKETS = 20, MADE_EVENTS = 4, MADE_PACKET_BYTES = 4096 };
int64_t made_time(int stream, int packet, int event);

struct made_losses {   /* losses in stream 0; -1: none */
	int discarded; /* five events discarded before the end of this packet */
	int missing;   /* this packet is missing */
};

/* Makes the trace in a folder below $TMPDIR. The returned path is static. */
const char *made_ticks(const struct made_losses *losses);
/* The same, for CTF 2: one event with every kind of field, see made.c. */
const char *made_kinds(void);
/* Makes a folder with this text as its metadata. */
const char *made_metadata(const char *text);
/* Deletes the folder that was made last. */
void made_remove(void);

#endif
