/*
 * beacons.h - how far idle streams of a mirror have no events, as the relay said:
 * FOLDER/.yore-beacons
 *
 * For an idle stream a relay sends a cycle of its clock before which no event will come (a live
 * beacon); of a stream that ended it says that none will come. A follower of the folder need not
 * wait for such streams.
 *
 * A beacon is written after all packets that the relay gave before it, and after the files of all
 * streams that began before it. So a follower reads the beacons first and then opens the trace.
 */
#ifndef LIVE_BEACONS_H
#define LIVE_BEACONS_H

#include "engine/base/error.h"

#include <stdint.h>

#define BEACONS_NAME ".yore-beacons"
#define BEACON_OVER UINT64_MAX /* cycles: the stream has ended */

struct beacons;

/*
 * Reads the beacons of a mirror's folder; NULL: it has none. The caller frees them with
 * beacons_close().
 */
struct beacons *beacons_read(const char *folder);
/*
 * The same for the one process that writes them. Creates the file; beacons of earlier runs stay
 * valid.
 */
MUST_CHECK bool beacons_open(const char *folder, struct beacons **out, struct error *err);
void beacons_close(struct beacons *beacons); /* NULL is fine */

/* Finds a stream's beacon. `stream`: path of its first file in the folder. False: none. */
bool beacons_find(const struct beacons *beacons, const char *stream, uint64_t *cycles);
/* Sets a beacon for the next beacons_write(); one before the known beacon is ignored. */
void beacons_set(struct beacons *beacons, const char *stream, uint64_t cycles);
MUST_CHECK bool beacons_write(struct beacons *beacons, struct error *err);

#endif
