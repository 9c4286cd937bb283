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
#define MIRROR_ENDED "\nended\n"     /* last line of the mark after the session's end, */
#define MIRROR_GOING "\nnot ended\n" /* and before */

struct mirror_session {
	uint64_t id;
	unsigned timer_ms;  /* of its live timer */
	int64_t streams_at; /* when to request new streams next; clock_ms(), as all times below */
	int64_t owes;       /* since when new streams are flagged but not listed; 0: none are */
	int64_t gone;       /* since when the relay has not listed it; 0: it does */
	int64_t active;     /* when it last sent metadata or a packet */
	bool hung_up;       /* it gets no new streams; known ones may have packets */
	bool ended;
};

struct mirror_trace {
	struct mirror_session *session;
	uint64_t id;
	uint64_t metadata; /* id of the metadata stream */
	bool has_metadata; /* the metadata stream is known */
	bool over;         /* no more metadata will come */
	bool due;          /* more metadata may be there */
	int64_t due_at;    /* the next request for it is not before */
	bool asked_last;   /* it was requested once after all streams had ended */
	int64_t begun;     /* when the relay announced it */
	char *path;        /* its path, valid in the folder */
	char *folder;      /* its folder; NULL: not known yet */
	struct metadata_file *file;
};

struct mirror_stream {
	struct mirror_trace *trace;
	uint64_t id;
	char *name;               /* name of its file */
	struct stream_file *file; /* NULL: not open yet */
	bool over;
	int64_t hung_up; /* when the relay said that it ended; 0: it did not */
	bool waits;      /* `index` is of a packet that is not complete yet */
	bool placed;
	struct live_index index;
	uint64_t done;   /* bytes of the packet that are written */
	int64_t next;    /* when to request its next index or packet */
	int64_t fetched; /* when its last packet was complete */
	int64_t retried; /* since when the relay asks to retry the packet; 0: it does not */
	uint64_t beacon; /* cycles before which no event comes; 0: not known; BEACON_OVER */
};

/* A failure that is tried again once, on a new connection. */
struct mirror_trouble {
	char *stream; /* mirror_label() of the stream */
	uint64_t offset;
};

struct mirror {
	const struct mirror_options *options;
	struct mirror_counts *counts;
	struct connection *connection;
	uint32_t minor;
	int lock;          /* the open folder */
	bool fatal;        /* the folder failed, not the connection */
	bool attached;     /* to a session, at some time */
	bool made;         /* this run made the mark, */
	bool made_it;      /* and the folder */
	int64_t good;      /* when a round of requests last succeeded */
	bool ended_before; /* the folder is complete from an earlier run */
	bool told_early;   /* the note on streams that ended early was shown */
	int64_t list_at;   /* when to list the sessions next */
	int64_t cold_ms;   /* between two requests to an idle stream */
	struct beacons *beacons; /* of the folder */
	bool beacons_wait;       /* some are not written yet, */
	int64_t beacons_at;      /* and will not be before */

	struct mirror_session **sessions;
	size_t nsessions, sessions_capacity;
	struct mirror_trace **traces;
	size_t ntraces, traces_capacity;
	struct mirror_stream **streams;
	size_t nstreams, streams_capacity;
	struct mirror_trouble *troubles;
	size_t ntroubles, troubles_capacity;
	uint8_t *piece;         /* LIVE_PIECE_MOST bytes */
	struct nameset counted; /* traces and streams in `counts`, of all connections */
	struct nameset ids;     /* streams of this connection */
};

/* mirror_folder.c: the folder --------------------------------------------------------------------
 */

/* Creates and locks the folder, or continues an earlier mirror of this session. */
MUST_CHECK bool mirror_folder_open(struct mirror *mirror, struct error *err);
void mirror_folder_close(struct mirror *mirror);
MUST_CHECK bool mirror_mark(struct mirror *mirror, bool ended, struct error *err);
/*
 * Finds or creates the trace's folder, by the beginning of its metadata (NULL: there will be none).
 */
MUST_CHECK bool mirror_place_trace(struct mirror *mirror, struct mirror_trace *trace,
				   const struct buf *beginning, struct error *err);

/* mirror_sessions.c: what there is ---------------------------------------------------------------
 */

/* Attaches to all wanted sessions that are not attached yet. */
MUST_CHECK bool mirror_attach(struct mirror *mirror, struct error *err);
/* Requests new streams of a session. *all: the relay listed all; `all` may be NULL. */
MUST_CHECK bool mirror_more_streams(struct mirror *mirror, struct mirror_session *session,
				    bool *all, struct error *err);
void mirror_forget(struct mirror *mirror); /* frees all of the connection: ids are its own */
/* PATH/NAME of a stream, for messages; the caller frees it with mem_free(). */
char *mirror_label(const struct mirror_stream *stream);

/* mirror_poll.c: what comes ----------------------------------------------------------------------
 */

/* Polls until all sessions have ended. */
MUST_CHECK bool mirror_follow(struct mirror *mirror, struct error *err);

/* mirror_beacons.c: idle streams -----------------------------------------------------------------
 */

/* Stores a beacon of the stream, all of whose packets before it are written. */
void mirror_note_beacon(struct mirror *mirror, struct mirror_stream *stream, uint64_t cycles);
/* Writes stored beacons when that is due. */
MUST_CHECK bool mirror_tell_beacons(struct mirror *mirror, struct error *err);

/* Notes that the folder failed, so that connecting again is useless. Returns false. */
bool mirror_local(struct mirror *mirror, const struct error *err);

#endif
