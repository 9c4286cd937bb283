/* mirror_internal.h - what the files of the mirror share: the relay's sessions, traces and streams
 */
#ifndef LIVE_MIRROR_INTERNAL_H
#define LIVE_MIRROR_INTERNAL_H

#include "engine/base/nameset.h"
#include "live/metadata_file.h"
#include "live/mirror.h"
#include "live/stream_file.h"
#include "live/viewer.h"

#define MIRROR_MARK ".yore-mirror"
#define MIRROR_ENDED "\nended\n"     /* how the mark ends when the session has, */
#define MIRROR_GOING "\nnot ended\n" /* and until then */

struct mirror_session {
	uint64_t id;
	unsigned timer_ms;  /* of its live timer */
	int64_t streams_at; /* when new streams are asked for next; ms, as all times below */
	int64_t owes;       /* since when it has new streams that it has not told; 0: it has none */
	int64_t gone;       /* since when the relay does not list it any more; 0: it does */
	int64_t active;     /* when something came of it last */
	bool hung_up;       /* it has no new streams any more; those that it has may give packets */
	bool ended;
};

struct mirror_trace {
	struct mirror_session *session;
	uint64_t id;
	uint64_t metadata; /* the stream that gives it */
	bool has_metadata; /* such a stream is known */
	bool over;         /* it will give no more */
	bool due;          /* it may have more */
	int64_t due_at;    /* but is not asked before */
	bool asked_last;   /* once all of its streams were over */
	int64_t begun;     /* when it was told of */
	char *path;        /* as a path in the folder */
	char *folder;      /* where it is; NULL: not known yet */
	struct metadata_file *file;
};

struct mirror_stream {
	struct mirror_trace *trace;
	uint64_t id;
	char *name;               /* of its file */
	struct stream_file *file; /* NULL: not open yet */
	bool over;
	int64_t hung_up; /* when the relay said that it is over; 0: it did not */
	bool waits;      /* `index` is of a packet that is not written */
	bool placed;
	struct live_index index;
	uint64_t done;   /* bytes of it that are written */
	int64_t next;    /* when it is asked next */
	int64_t fetched; /* when it gave a packet last */
	int64_t retried; /* since when the packet is to be asked for later; 0: it is not */
	uint64_t beacon; /* cycles up to which it has nothing; 0: not known; BEACON_OVER */
};

/* What went wrong at a stream once is tried again once, on a new connection. */
struct mirror_trouble {
	char *stream; /* its file's name with the path */
	uint64_t offset;
};

struct mirror {
	const struct mirror_options *options;
	struct mirror_counts *counts;
	struct connection *connection;
	uint32_t minor;
	int lock;          /* the open folder */
	bool fatal;        /* the error is the folder's, not the connection's */
	bool attached;     /* to some session, at some time */
	bool made;         /* the folder is of this run, */
	bool made_it;      /* and was not there before */
	int64_t good;      /* when all that was asked was answered last */
	bool ended_before; /* the folder has all of a session that ended */
	bool told_early;   /* that some stream may have been hung up before its end */
	int64_t list_at;   /* when the sessions are listed next */
	int64_t cold_ms;   /* between two questions to an idle stream */
	struct beacons *beacons; /* in the folder */
	bool beacons_wait;       /* there are some that are not written, */
	int64_t beacons_at;      /* and are not before */

	struct mirror_session **sessions;
	size_t nsessions, sessions_capacity;
	struct mirror_trace **traces;
	size_t ntraces, traces_capacity;
	struct mirror_stream **streams;
	size_t nstreams, streams_capacity;
	struct mirror_trouble *troubles;
	size_t ntroubles, troubles_capacity;
	uint8_t *piece;         /* LIVE_PIECE_MOST bytes */
	struct nameset counted; /* traces and streams of all connections */
	struct nameset ids;     /* of streams on this connection */
};

/* mirror_folder.c: the folder --------------------------------------------------------------------
 */

/* Makes it, or takes up one that is this session's; nobody else may. */
MUST_CHECK bool mirror_folder_open(struct mirror *mirror, struct error *err);
void mirror_folder_close(struct mirror *mirror);
MUST_CHECK bool mirror_mark(struct mirror *mirror, bool ended, struct error *err);
/* Finds the trace's folder by the beginning of its metadata (NULL: it will have none), and makes
 * it. */
MUST_CHECK bool mirror_place_trace(struct mirror *mirror, struct mirror_trace *trace,
				   const struct buf *beginning, struct error *err);

/* mirror_sessions.c: what there is ---------------------------------------------------------------
 */

/* Attaches to all sessions that are wanted and are not attached yet. */
MUST_CHECK bool mirror_attach(struct mirror *mirror, struct error *err);
/* Asks for what streams a session has more. *all: the relay told of all; NULL is fine. */
MUST_CHECK bool mirror_more_streams(struct mirror *mirror, struct mirror_session *session,
				    bool *all, struct error *err);
void mirror_forget(struct mirror *mirror); /* all of the connection: ids are its own */
/* PATH/NAME of a stream, for messages; ended with mem_free(). */
char *mirror_label(const struct mirror_stream *stream);

/* mirror_poll.c: what comes ----------------------------------------------------------------------
 */

/* Asks until all sessions have ended. */
MUST_CHECK bool mirror_follow(struct mirror *mirror, struct error *err);

/* mirror_beacons.c: idle streams -----------------------------------------------------------------
 */

/* The relay said so of the stream, all of whose packets before it are written. */
void mirror_note_beacon(struct mirror *mirror, struct mirror_stream *stream, uint64_t cycles);
/* Writes what was noted, where it is time. */
MUST_CHECK bool mirror_tell_beacons(struct mirror *mirror, struct error *err);

/* The folder failed: it is of no use to connect again. Returns false. */
bool mirror_local(struct mirror *mirror, const struct error *err);

#endif
