/*
 * mirror.h - what a relay gives of a session, written to an ordinary trace folder while it runs
 *
 *     FOLDER/.yore-mirror                        whose mirror it is
 *            ust/uid/1000/64-bit/metadata        of each trace, its path as the relay says
 *                                ch0_0           packets of a stream
 *                                index/ch0_0.idx where they are
 *            .yore-beacons                       up to when idle streams have nothing: beacons.h
 *
 * The folder is right at any instant: a killed mirror is run again with the same arguments. Nobody
 * else may write there meanwhile; anybody may read.
 */
#ifndef LIVE_MIRROR_H
#define LIVE_MIRROR_H

#include "engine/base/error.h"
#include "live/connection.h"
#include "live/url.h"

#include <stdint.h>

struct mirror_counts {
	uint64_t traces, streams; /* that the relay told of, each once */
	uint64_t packets, bytes;  /* written; bytes of metadata are among them */
	uint64_t known;           /* packets that were there already */
	uint64_t missing;         /* packets that the relay told of and did not give */
	uint64_t connections;
	bool ended; /* the session is over, and all of it is there */
};

struct mirror_options {
	const struct live_url *url;
	const char *folder;
	uint64_t retry_ms; /* how long a connection that was lost is tried again */
	struct connection_limits limits;
	struct notices notices;
	/* How a connection is had, with limits.arg; NULL: by connection_open(). */
	bool (*connect)(void *arg, struct connection **out, struct error *err);
	/* Called now and then with limits.arg; may be NULL. */
	void (*progress)(void *arg, const struct mirror_counts *counts);
};

/*
 * Mirrors until the session ends. False: *err says why not, ERR_INTERRUPTED that `stopped` said so;
 * what is in the folder stays, and the next call goes on. *out is filled in either case.
 */
MUST_CHECK bool mirror_run(const struct mirror_options *options, struct mirror_counts *out,
			   struct error *err);

/* Is the folder a mirror of a session that is over, with all of it? For who follows the folder. */
bool mirror_has_ended(const char *folder);
/* Is it a mirror of one that is not over, as far as is known? */
bool mirror_goes_on(const char *folder);

#endif
