/*
 * mirror.h - writes a running session, read from a relay, to an ordinary trace folder
 *
 *     FOLDER/.yore-mirror                        whose mirror it is
 *            ust/uid/1000/64-bit/metadata        of each trace, its path as the relay says
 *                                ch0_0           packets of a stream
 *                                index/ch0_0.idx where they are
 *            .yore-beacons                       up to when idle streams have nothing: beacons.h
 *
 * The folder is valid at any instant: a mirror that was killed continues when it is run again with
 * the same arguments. Nobody else may write there meanwhile; anybody may read.
 */
#ifndef LIVE_MIRROR_H
#define LIVE_MIRROR_H

#include "engine/base/error.h"
#include "live/connection.h"
#include "live/url.h"

#include <stdint.h>

struct mirror_counts {
	uint64_t traces, streams; /* announced by the relay, each counted once */
	uint64_t packets, bytes;  /* written; bytes include metadata */
	uint64_t known;           /* packets that the folder had before */
	uint64_t missing;         /* packets that the relay announced and did not send */
	uint64_t connections;
	bool ended; /* the session has ended, and the folder has all of it */
};

struct mirror_options {
	const struct live_url *url;
	const char *folder;
	uint64_t retry_ms; /* how long to try to connect again after a failure */
	struct connection_limits limits;
	struct notices notices;
	/* Makes a connection; gets limits.arg. NULL: connection_open() does. */
	bool (*connect)(void *arg, struct connection **out, struct error *err);
	/* Called regularly, with limits.arg; may be NULL. */
	void (*progress)(void *arg, const struct mirror_counts *counts);
};

/*
 * Mirrors until the session ends. False: *err; ERR_INTERRUPTED if `stopped` returned true. The
 * folder stays, and the next call continues it. *out is filled in either case.
 */
MUST_CHECK bool mirror_run(const struct mirror_options *options, struct mirror_counts *out,
			   struct error *err);

/* Is the folder the complete mirror of a session that has ended? For followers of the folder. */
bool mirror_has_ended(const char *folder);
/* Is the folder a mirror whose session has not ended, as far as is known? */
bool mirror_goes_on(const char *folder);

#endif
