/*
 * mirror_beacons.c - stores and writes beacons of idle streams, for followers of the folder
 *
 * A beacon holds for one stream. A follower's time for the trace is the least of all streams', so
 * it must know all streams that began before the beacon was sent:
 *
 *     "nothing in a up to 500" -> which new streams? -> b -> b's empty file -> a's beacon
 *
 * Relays before 2.13.12 flag new streams once, and never with a beacon: so new streams are
 * requested before beacons are written.
 */
#include "live/mirror_internal.h"

#include "engine/base/mem.h"
#include "engine/base/wait.h"
#include "live/beacons.h"

#include <string.h>

void mirror_note_beacon(struct mirror *mirror, struct mirror_stream *stream, uint64_t cycles)
{
	if (cycles <= stream->beacon)
		return;
	stream->beacon = cycles;
	mirror->beacons_wait = true;
}

/* Requests new streams of all sessions. *all: each existing stream has its file in the folder. */
static bool find_streams(struct mirror *mirror, bool *all, struct error *err)
{
	*all = true;
	for (size_t i = 0; i < mirror->nsessions; i++) {
		struct mirror_session *session = mirror->sessions[i];
		bool told = true;
		if (!session->ended && !session->hung_up &&
		    !mirror_more_streams(mirror, session, &told, err))
			return false;
		*all &= told;
	}
	for (size_t i = 0; i < mirror->ntraces; i++)
		*all &= mirror->traces[i]->folder || mirror->traces[i]->over;
	return true;
}

bool mirror_tell_beacons(struct mirror *mirror, struct error *err)
{
	size_t above = strlen(mirror->options->folder) + 1;
	bool all;

	if (!mirror->beacons_wait || clock_ms() < mirror->beacons_at)
		return true;
	if (!find_streams(mirror, &all, err))
		return false;
	mirror->beacons_at = clock_ms() + mirror->cold_ms;
	if (!all)
		return true;
	mirror->beacons_wait = false;
	for (size_t i = 0; i < mirror->nstreams; i++) {
		const struct mirror_stream *stream = mirror->streams[i];
		struct buf path = {0};
		if (!stream->beacon || !stream->trace->folder)
			continue;
		buf_printf(&path, "%s/%s", stream->trace->folder + above, stream->name);
		beacons_set(mirror->beacons, buf_text(&path), stream->beacon);
		buf_release(&path);
	}
	return beacons_write(mirror->beacons, err) || mirror_local(mirror, err);
}
