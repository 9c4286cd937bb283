/* mirror_sessions.c - the sessions, traces and streams of this connection */
#include "live/mirror_internal.h"

#include "engine/base/mem.h"
#include "engine/base/nearest.h"
#include "engine/base/wait.h"
#include "live/names.h"
#include "live/stream_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	LIST_MS = 1000,
	STREAMS_LEAST_MS = 100,
	STREAMS_MOST_MS = 1000,
	OWED_MS = 20, /* the same, if some are flagged */
	EARLY_MS = 500,
	SAFE_HANG_UP_MINOR = 14
};

static bool mirror_sessions_is_wanted(const struct mirror *mirror,
				      const struct live_session *session)
{
	const struct live_url *url = mirror->options->url;

	return strcmp(session->host, url->session_host) == 0 &&
	       strcmp(session->name, url->session) == 0;
}

/* Counting ---------------------------------------------------------------------------------------
 */

/* 1 if it was not counted before, on any connection. */
static uint64_t count_once(struct mirror *mirror, const char *path, const char *name)
{
	struct buf text = {0};

	buf_printf(&text, "%s//%s", path, name);
	bool fresh = nameset_add(&mirror->counted, text.data, 0);
	buf_release(&text);
	return fresh;
}

/* Streams ----------------------------------------------------------------------------------------
 */

char *mirror_label(const struct mirror_stream *stream)
{
	struct buf text = {0};

	buf_printf(&text, "%s%s%s", stream->trace->path, *stream->trace->path ? "/" : "",
		   stream->name);
	return text.data;
}

static struct mirror_trace *get_trace(struct mirror *mirror, struct mirror_session *session,
				      const struct live_stream *told, const char *path)
{
	struct mirror_trace *trace;

	for (size_t i = 0; i < mirror->ntraces; i++)
		if (mirror->traces[i]->session == session && mirror->traces[i]->id == told->trace)
			return mirror->traces[i];
	trace = mem_new(sizeof *trace);
	*trace = (struct mirror_trace){.session = session,
				       .id = told->trace,
				       .begun = clock_ms(),
				       .path = mem_strdup(path)};
	*mem_push(mirror->traces, mirror->ntraces, mirror->traces_capacity) = trace;
	mirror->counts->traces += count_once(mirror, path, "");
	return trace;
}

static void add_metadata(struct mirror_trace *trace, const struct live_stream *told,
			 const char *path)
{
	if (!trace->folder && strcmp(trace->path, path) != 0) {
		mem_free(trace->path);
		trace->path = mem_strdup(path);
	}
	trace->metadata = told->id;
	trace->has_metadata = true;
	trace->over = false;
	trace->due = true;
}

/* False: the relay announced the stream before. */
static bool is_new(struct mirror *mirror, const struct mirror_session *session, uint64_t id)
{
	char text[48];

	snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64, session->id, id);
	return nameset_add(&mirror->ids, text, 0);
}

static bool add_channel(struct mirror *mirror, struct mirror_trace *trace,
			const struct live_stream *told, struct error *err)
{
	struct mirror_stream *stream;
	struct buf name = {0};

	if (!live_add_name(&name, told->channel, err)) {
		buf_release(&name);
		return false;
	}
	stream = mem_new(sizeof *stream);
	*stream = (struct mirror_stream){.trace = trace, .id = told->id, .name = name.data};
	*mem_push(mirror->streams, mirror->nstreams, mirror->streams_capacity) = stream;
	mirror->counts->streams += count_once(mirror, trace->path, stream->name);
	return !trace->folder || stream_file_announce(trace->folder, stream->name, err) ||
	       mirror_local(mirror, err);
}

struct session_mirror {
	struct mirror *mirror;
	struct mirror_session *session;
};

static bool add_mirrored_stream(void *arg, const struct live_stream *told, struct error *err)
{
	struct mirror *mirror = ((struct session_mirror *)arg)->mirror;
	struct mirror_session *session = ((struct session_mirror *)arg)->session;
	struct buf path = {0};
	bool ok = live_add_path(&path, told->path, err);

	session->active = clock_ms();
	if (ok && mirror->nstreams + mirror->ntraces >= LIVE_STREAMS_MOST)
		ok = error_set(err, ERR_FORMAT, "it tells of more than %d streams",
			       LIVE_STREAMS_MOST);
	if (ok && is_new(mirror, session, told->id)) {
		struct mirror_trace *trace = get_trace(mirror, session, told, buf_text(&path));
		if (told->metadata)
			add_metadata(trace, told, buf_text(&path));
		else
			ok = add_channel(mirror, trace, told, err);
	}
	buf_release(&path);
	return ok;
}

bool mirror_more_streams(struct mirror *mirror, struct mirror_session *session, bool *all,
			 struct error *err)
{
	struct session_mirror adding = {mirror, session};
	unsigned ms = session->timer_ms;
	uint32_t status;

	if (!viewer_streams(mirror->connection, LIVE_STREAMS, session->id, add_mirrored_stream, &adding, &status,
			    err))
		return error_while(err, "new streams");
	ms = ms < STREAMS_LEAST_MS ? STREAMS_LEAST_MS : ms > STREAMS_MOST_MS ? STREAMS_MOST_MS : ms;
	session->streams_at = clock_ms() + ms;
	/* during a rotation a session says that there are none */
	bool told = status == LIVE_STREAMS_OK || status == LIVE_STREAMS_HANG_UP;
	if (all)
		*all = told;
	if (told)
		session->owes = 0;
	else if (session->owes)
		session->streams_at = clock_ms() + OWED_MS;
	if (status == LIVE_STREAMS_HANG_UP)
		session->hung_up = true;
	else if (status == LIVE_STREAMS_ERROR)
		mirror->list_at = 0; /* list again: is it gone? */
	return true;
}

/* Sessions ---------------------------------------------------------------------------------------
 */

static bool refused(const struct mirror *mirror, uint32_t status, struct error *err)
{
	const char *name = mirror->options->url->session;

	switch ((enum live_attach)status) {
	case LIVE_ATTACH_ALREADY:
		return error_set(err, ERR_IO, "session %s has a viewer, and may have but one",
				 name);
	case LIVE_ATTACH_NOT_LIVE:
		return error_set(
			err, ERR_RANGE,
			"session %s is not live: 'lttng create %s --live' makes one that is", name,
			name);
	case LIVE_ATTACH_UNKNOWN:
		return error_set(err, ERR_IO, "session %s has just ended", name);
	default:
		return error_set(err, ERR_FORMAT, "the relay refuses session %s: status %u", name,
				 status);
	}
}

static bool attach_to(struct mirror *mirror, const struct live_session *told, struct error *err)
{
	struct mirror_session *session = mem_new(sizeof *session);
	struct session_mirror adding = {mirror, session};
	uint32_t status;

	*session = (struct mirror_session){
		.id = told->id, .timer_ms = told->timer / 1000, .active = clock_ms()};
	*mem_push(mirror->sessions, mirror->nsessions, mirror->sessions_capacity) = session;
	if (!viewer_streams(mirror->connection, LIVE_ATTACH, told->id, add_mirrored_stream, &adding, &status,
			   err))
		return error_while(err, "attach");
	if (status != LIVE_ATTACH_OK)
		return refused(mirror, status, err);
	mirror->attached = true;
	return true;
}

static bool no_session(const struct mirror *mirror, const struct viewer_sessions *told,
		       struct error *err)
{
	const struct live_url *url = mirror->options->url;
	char hint[NEAREST_WORDS_MAX];
	struct nearest nearest;

	if (mirror->attached || !mirror->made)
		return error_set(err, ERR_RANGE,
				 "session %s of %s is gone: what it gave after the last packet "
				 "that is in %s "
				 "is not known",
				 url->session, url->session_host, mirror->options->folder);
	nearest_begin(&nearest, url->session);
	for (size_t i = 0; i < told->count; i++)
		nearest_offer(&nearest, told->items[i].name);
	nearest_hint(&nearest, hint, sizeof hint);
	return error_set(err, ERR_RANGE,
			 "no session %s of host %s: %s'yore sessions' lists what there is",
			 url->session, url->session_host, hint);
}

/*
 * Relays before 2.14 end the streams of a process that exited, even if not all packets were sent.
 * It happens while the session goes on, and is noted once.
 */
static void note_early(struct mirror *mirror, const struct mirror_session *session)
{
	for (size_t i = 0; i < mirror->nstreams && !mirror->told_early; i++) {
		const struct mirror_stream *stream = mirror->streams[i];
		if (mirror->minor >= SAFE_HANG_UP_MINOR || stream->trace->session != session ||
		    !stream->hung_up || clock_ms() - stream->hung_up < EARLY_MS)
			continue;
		char *label = mirror_label(stream);
		mirror->told_early = true;
		notice(&mirror->options->notices, NOTICE_WARNING,
		       "%s ended before the session: a relay of 2.%u may give the last packets of "
		       "such "
		       "streams to nobody; its own folder has them",
		       label, mirror->minor);
		mem_free(label);
	}
}

static void note_gone(struct mirror *mirror, const struct viewer_sessions *told)
{
	for (size_t i = 0; i < mirror->nsessions; i++) {
		struct mirror_session *session = mirror->sessions[i];
		bool there = false;
		for (size_t k = 0; k < told->count; k++)
			there |= told->items[k].id == session->id;
		if (there)
			note_early(mirror, session);
		if (there)
			session->gone = 0;
		else if (!session->gone)
			session->gone = clock_ms();
	}
}

static bool is_attached(const struct mirror *mirror, uint64_t id)
{
	for (size_t i = 0; i < mirror->nsessions; i++)
		if (mirror->sessions[i]->id == id)
			return true;
	return false;
}

bool mirror_attach(struct mirror *mirror, struct error *err)
{
	struct viewer_sessions told;
	bool ok = true;

	if (!viewer_sessions(mirror->connection, mirror->minor, &told, err))
		return error_while(err, "list of sessions");
	for (size_t i = 0; ok && i < told.count; i++)
		if (mirror_sessions_is_wanted(mirror, &told.items[i]) &&
		    !is_attached(mirror, told.items[i].id))
			ok = attach_to(mirror, &told.items[i], err);
	if (ok && !mirror->nsessions)
		ok = no_session(mirror, &told, err);
	note_gone(mirror, &told);
	viewer_sessions_release(&told);
	mirror->list_at = clock_ms() + LIST_MS;
	return ok;
}

void mirror_forget(struct mirror *mirror)
{
	for (size_t i = 0; i < mirror->nstreams; i++) {
		stream_file_close(mirror->streams[i]->file);
		mem_free(mirror->streams[i]->name);
		mem_free(mirror->streams[i]);
	}
	for (size_t i = 0; i < mirror->ntraces; i++) {
		metadata_file_close(mirror->traces[i]->file);
		mem_free(mirror->traces[i]->folder);
		mem_free(mirror->traces[i]->path);
		mem_free(mirror->traces[i]);
	}
	for (size_t i = 0; i < mirror->nsessions; i++)
		mem_free(mirror->sessions[i]);
	mirror->nstreams = mirror->ntraces = mirror->nsessions = 0;
	nameset_release(&mirror->ids);
}
