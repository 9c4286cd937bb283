/*
 * beacons.h - up to when streams of a mirror have nothing, as the relay said: FOLDER/.yore-beacons
 *
 * A relay says of an idle stream up to which cycle of its clock no event will come (a live beacon),
 * and of one that is over that none will. A follower of the folder need not wait for such streams.
 *
 * A beacon is written after all packets that the relay gave before it, and after the files of all
 * streams that began before it. So a follower reads the beacons first, and opens the trace then.
 */
#ifndef LIVE_BEACONS_H
#define LIVE_BEACONS_H

#include "engine/base/error.h"

#include <stdint.h>

#define BEACONS_NAME ".yore-beacons"
#define BEACON_OVER UINT64_MAX /* cycles: the stream brings nothing more */

struct beacons;

/* Those of a mirror's folder; NULL: it has none. The caller ends them with beacons_close(). */
struct beacons *beacons_read(const char *folder);
/*
 * The same for who writes them: one at a time. The file is made; what another run wrote holds.
 */
MUST_CHECK bool beacons_open(const char *folder, struct beacons **out, struct error *err);
void beacons_close(struct beacons *beacons); /* NULL is fine */

/* `stream`: the path of its first file in the folder. False: it has none. */
bool beacons_find(const struct beacons *beacons, const char *stream, uint64_t *cycles);
/* For the next beacons_write(); one that is earlier than what is known changes nothing. */
void beacons_set(struct beacons *beacons, const char *stream, uint64_t cycles);
MUST_CHECK bool beacons_write(struct beacons *beacons, struct error *err);

#endif
