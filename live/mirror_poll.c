/*
 * mirror_poll.c - requests indexes, metadata and packets, so that no packet is written before its
 * metadata
 *
 * The protocol has no notifications, so streams are polled, at a rate that limits the cost: streams
 * with a recent packet every 10 ms, others every 25 ms, or less often, so that these make 500
 * requests a second. Requests to up to 64 streams are sent in one turn, since the round trip costs
 * more than they do.
 *
 *     next index of 64 streams -> new streams and metadata, where there are -> pieces of packets
 *
 * A relay reads a stream's packets from the file of the last index that it sent. So a stream's next
 * index is not requested before its packet is written, and a packet only after an index.
 */
#include "live/mirror_internal.h"

#include "engine/base/mem.h"
#include "engine/base/wait.h"
#include "live/beacons.h"

#include <string.h>

enum {
	TICK_MS = 10,
	HOT_MS = 3000,  /* a stream is hot so long after its last packet */
	HOT_PER_MS = 5, /* hot streams that are polled in a ms */
	COLD_MS_EACH = 2,
	COLD_LEAST_MS = 25,
	COLD_MOST_MS = 2000,
	METADATA_MS = 50,       /* between requests for metadata */
	METADATA_IDLE_MS = 200, /* the same, when there was no more */
	ASKS_MOST = 1000,       /* most requests for metadata in a turn */
	NO_METADATA_MS = 1000,  /* longest wait for a metadata stream */
	RETRY_MS = 20,
	OWED_MOST_MS = 2000, /* longest wait of packets for new streams */
	IDLE_MOST_MS = 200,
	GONE_MS = 2000 /* a session ends so long after it was last listed */
};

/* Metadata ---------------------------------------------------------------------------------------
 */

static bool take_metadata(struct mirror *mirror, struct mirror_trace *trace,
			  const struct buf *bytes, struct error *err)
{
	size_t added;

	if (!trace->folder && !mirror_place_trace(mirror, trace, bytes, err))
		return false;
	if (!metadata_file_add(trace->file, bytes, &added, err))
		return mirror_local(mirror, err);
	mirror->counts->bytes += added;
	trace->session->active = clock_ms();
	return true;
}

/* Sends one request for metadata. *more: more may be there at once. */
static bool ask_once(struct mirror *mirror, struct mirror_trace *trace, bool *more,
		     struct error *err)
{
	uint64_t have = trace->file ? metadata_file_size(trace->file) : 0;
	struct buf bytes = {0};
	uint32_t status;
	bool ok = viewer_metadata(mirror->connection, trace->metadata, have, &bytes, &status, err);

	*more = false;
	if (!ok) {
		error_while(err, "metadata of %s", trace->path);
	} else if (status == LIVE_METADATA_OK && bytes.len) {
		*more = true;
		ok = take_metadata(mirror, trace, &bytes, err);
	} else if (status == LIVE_METADATA_OK) { /* more comes later */
		trace->due_at = clock_ms() + METADATA_MS;
	} else {
		trace->over = status == LIVE_METADATA_ERROR;
		trace->due = !trace->over && !trace->file;
		trace->due_at = clock_ms() + METADATA_IDLE_MS;
		if (trace->file && !metadata_file_settle(trace->file, err))
			ok = mirror_local(mirror, err);
	}
	buf_release(&bytes);
	return ok;
}

static bool ask_metadata(struct mirror *mirror, struct error *err)
{
	for (size_t i = 0; i < mirror->ntraces; i++) {
		struct mirror_trace *trace = mirror->traces[i];
		bool more = trace->has_metadata && trace->due && !trace->over &&
			    trace->due_at <= clock_ms();
		for (unsigned n = 0; more && n < ASKS_MOST; n++)
			if (!ask_once(mirror, trace, &more, err))
				return false;
	}
	return true;
}

/* Is the trace's folder known? If no metadata will come, it is created without. */
static bool is_placed(struct mirror *mirror, struct mirror_trace *trace, bool *out,
		      struct error *err)
{
	bool none =
		trace->over || (!trace->has_metadata && clock_ms() - trace->begun > NO_METADATA_MS);

	if (!trace->folder && none && !mirror_place_trace(mirror, trace, NULL, err))
		return false;
	*out = trace->folder != NULL;
	return true;
}

/* What the relay cannot give ---------------------------------------------------------------------
 */

/* Was this failure stored before? Then forgets it. */
static bool take_trouble(struct mirror *mirror, const char *label, uint64_t offset)
{
	for (size_t i = 0; i < mirror->ntroubles; i++) {
		struct mirror_trouble *trouble = &mirror->troubles[i];
		if (trouble->offset != offset || strcmp(trouble->stream, label) != 0)
			continue;
		mem_free(trouble->stream);
		*trouble = mirror->troubles[--mirror->ntroubles];
		return true;
	}
	return false;
}

static bool is_second_time(struct mirror *mirror, const char *label, uint64_t offset)
{
	if (take_trouble(mirror, label, offset))
		return true;
	*mem_push(mirror->troubles, mirror->ntroubles, mirror->troubles_capacity) =
		(struct mirror_trouble){mem_strdup(label), offset};
	return false;
}

/* The stream continues: a later failure counts as the first. */
static void forget_trouble(struct mirror *mirror, const struct mirror_stream *stream)
{
	char *label;

	if (!mirror->ntroubles)
		return;
	label = mirror_label(stream);
	take_trouble(mirror, label, UINT64_MAX);
	mem_free(label);
}

/*
 * The relay failed to send an index: a new connection may help (per-PID buffers after a clear),
 * once.
 */
static bool index_failed(struct mirror *mirror, struct mirror_stream *stream, struct error *err)
{
	char *label = mirror_label(stream);
	bool again = is_second_time(mirror, label, UINT64_MAX);

	if (again) {
		notice(&mirror->options->notices, NOTICE_DAMAGE,
		       "%s: the relay cannot say what follows: the rest of it is missing", label);
		stream->over = true;
	} else {
		error_set(err, ERR_IO, "%s: the relay cannot say what follows", label);
	}
	mem_free(label);
	return again;
}

static bool packet_failed(struct mirror *mirror, struct mirror_stream *stream, struct error *err)
{
	char *label = mirror_label(stream);
	uint64_t offset = stream->index.offset;
	bool again = is_second_time(mirror, label, offset);

	if (again) {
		notice(&mirror->options->notices, NOTICE_DAMAGE,
		       "%s: the relay does not give the packet at %llu: its %llu bytes are missing",
		       label, (unsigned long long)offset,
		       (unsigned long long)stream->index.packet_bits / 8);
		mirror->counts->missing++;
		stream->waits = false;
	} else {
		error_set(err, ERR_IO, "%s: the relay does not give the packet at %llu", label,
			  (unsigned long long)offset);
	}
	mem_free(label);
	return again;
}

/* Packets ----------------------------------------------------------------------------------------
 */

/* Finds the place of the stream's packet. *fetch: its bytes have to be requested. */
static bool place(struct mirror *mirror, struct mirror_stream *stream, bool *fetch,
		  struct error *err)
{
	bool ready, known;

	*fetch = false;
	if (!is_placed(mirror, stream->trace, &ready, err))
		return false;
	if (!ready) {
		stream->next = clock_ms() + METADATA_MS;
		return true;
	}
	if (!stream->file &&
	    !stream_file_open(stream->trace->folder, stream->name, &stream->file, err))
		return mirror_local(mirror, err);
	if (!stream->placed) {
		if (!stream_file_place(stream->file, &stream->index, &known, err))
			return mirror_local(mirror, err);
		stream->done = 0;
		stream->placed = !known;
		stream->waits = !known;
		mirror->counts->known += known;
	}
	*fetch = stream->waits;
	return true;
}

static uint32_t piece_size(const struct mirror_stream *stream)
{
	uint64_t left = stream->index.packet_bits / 8 - stream->done;

	return left < LIVE_PIECE_MOST ? (uint32_t)left : LIVE_PIECE_MOST;
}

static bool finish_packet(struct mirror *mirror, struct mirror_stream *stream, struct error *err)
{
	if (!stream_file_commit(stream->file, &stream->index, err))
		return mirror_local(mirror, err);
	stream->waits = stream->placed = false;
	stream->fetched = stream->trace->session->active = clock_ms();
	forget_trouble(mirror, stream);
	mirror->counts->packets++;
	mirror->counts->bytes += stream->index.packet_bits / 8;
	return true;
}

/* Reads the reply to a request for a piece and writes it; *more: another piece follows. */
static bool take_piece(struct mirror *mirror, struct mirror_stream *stream, bool *more,
		       struct error *err)
{
	struct live_bytes head;

	*more = false;
	if (!viewer_read_piece(mirror->connection, piece_size(stream), mirror->piece, &head, err))
		return error_while(err, "packet of %s", stream->name);
	if (head.status == LIVE_PACKET_RETRY) {
		stream->next = clock_ms() + RETRY_MS;
		stream->retried = stream->retried ? stream->retried : clock_ms();
		return (uint64_t)(clock_ms() - stream->retried) < mirror->options->retry_ms ||
		       packet_failed(mirror, stream, err);
	}
	stream->retried = 0;
	if (head.status != LIVE_PACKET_OK)
		return packet_failed(mirror, stream, err);
	if (!stream_file_write(stream->file, &stream->index, stream->done, mirror->piece,
			       (size_t)head.size, err))
		return mirror_local(mirror, err);
	stream->done += head.size;
	*more = stream->done < stream->index.packet_bits / 8;
	return *more || finish_packet(mirror, stream, err);
}

/* Fetches the packets of these streams, a piece of each in one turn. */
static bool fetch_packets(struct mirror *mirror, struct mirror_stream **streams, size_t count,
			  struct error *err)
{
	while (count) {
		size_t left = 0;
		for (size_t i = 0; i < count; i++)
			viewer_ask_piece(mirror->connection, streams[i]->id,
					 streams[i]->index.offset + streams[i]->done,
					 piece_size(streams[i]));
		if (!connection_send(mirror->connection, err))
			return error_while(err, "packets");
		for (size_t i = 0; i < count; i++) {
			bool more;
			if (!take_piece(mirror, streams[i], &more, err))
				return false;
			if (more)
				streams[left++] = streams[i];
		}
		count = left;
	}
	return true;
}

/* Indexes ----------------------------------------------------------------------------------------
 */

struct pace { /* ms between two requests to a stream */
	int64_t hot, cold;
};

static bool is_hot(const struct mirror_stream *stream, int64_t now)
{
	return stream->fetched && now - stream->fetched < HOT_MS;
}

static struct pace pace_of(const struct mirror *mirror, int64_t now)
{
	int64_t hot = 0, cold = 0;

	for (size_t i = 0; i < mirror->nstreams; i++) {
		if (mirror->streams[i]->over)
			continue;
		if (is_hot(mirror->streams[i], now))
			hot++;
		else
			cold++;
	}
	hot /= HOT_PER_MS;
	cold *= COLD_MS_EACH;
	cold = cold < COLD_LEAST_MS ? COLD_LEAST_MS : cold > COLD_MOST_MS ? COLD_MOST_MS : cold;
	return (struct pace){hot < TICK_MS ? TICK_MS : hot, cold};
}

static bool take_index(struct mirror *mirror, struct mirror_stream *stream,
		       const struct live_index *index, const struct pace *pace, struct error *err)
{
	int64_t now = clock_ms();

	stream->next = now + (is_hot(stream, now) ? pace->hot : pace->cold);
	if (index->flags & LIVE_NEW_METADATA) {
		stream->trace->due = true;
		if (index->status == LIVE_INDEX_OK)
			stream->trace->due_at = 0;
	}
	if (index->flags & LIVE_NEW_STREAMS) {
		struct mirror_session *session = stream->trace->session;
		session->streams_at = 0;
		session->owes = session->owes ? session->owes : now;
	}
	switch (index->status) {
	case LIVE_INDEX_OK:
		stream->index = *index;
		stream->waits = true;
		stream->placed = false;
		stream->next = 0;
		return true;
	case LIVE_INDEX_HANG_UP:
	case LIVE_INDEX_EOF:
		stream->over = true;
		stream->hung_up = now;
		mirror_note_beacon(mirror, stream, BEACON_OVER);
		stream_file_close(stream->file);
		stream->file = NULL;
		return true;
	case LIVE_INDEX_ERROR:
		return index_failed(mirror, stream, err);
	case LIVE_INDEX_INACTIVE:
		if (index->end != BEACON_OVER)
			mirror_note_beacon(mirror, stream, index->end);
		return true;
	case LIVE_INDEX_RETRY:
		return true;
	}
	return true;
}

static bool ask_indexes(struct mirror *mirror, struct mirror_stream **streams, size_t count,
			const struct pace *pace, struct error *err)
{
	struct live_index indexes[VIEWER_AT_ONCE];
	uint64_t ids[VIEWER_AT_ONCE];
	size_t asked = 0;

	for (size_t i = 0; i < count; i++)
		if (!streams[i]->waits)
			ids[asked++] = streams[i]->id;
	if (asked && !viewer_indexes(mirror->connection, ids, asked, indexes, err))
		return error_while(err, "next packets");
	for (size_t i = 0, k = 0; i < count; i++)
		if (!streams[i]->waits && !take_index(mirror, streams[i], &indexes[k++], pace, err))
			return false;
	return true;
}

static bool ask_streams(struct mirror *mirror, struct error *err)
{
	for (size_t i = 0; i < mirror->nsessions; i++) {
		struct mirror_session *session = mirror->sessions[i];
		bool due =
			!session->ended && !session->hung_up && session->streams_at <= clock_ms();
		if (due && !mirror_more_streams(mirror, session, NULL, err))
			return false;
	}
	return true;
}

/* Did the relay flag streams that it does not list, as while it rotates a session? */
static bool owes_streams(const struct mirror *mirror)
{
	for (size_t i = 0; i < mirror->nsessions; i++) {
		const struct mirror_session *session = mirror->sessions[i];
		if (session->owes && !session->ended && clock_ms() - session->owes < OWED_MOST_MS)
			return true;
	}
	return false;
}

/* One turn: indexes, new streams, metadata, packets. *busy: more may be there at once. */
static bool turn(struct mirror *mirror, struct mirror_stream **streams, size_t count,
		 const struct pace *pace, bool *busy, struct error *err)
{
	size_t fetches = 0;

	/* a follower must know all streams that began before a packet's events */
	if (!ask_indexes(mirror, streams, count, pace, err) || !ask_streams(mirror, err) ||
	    !ask_metadata(mirror, err))
		return false;
	bool owed = owes_streams(mirror);
	for (size_t i = 0; i < count; i++) {
		bool fetch;
		if (!streams[i]->waits)
			continue;
		if (owed) {
			streams[i]->next = clock_ms() + RETRY_MS;
			continue;
		}
		if (!place(mirror, streams[i], &fetch, err))
			return false;
		if (fetch)
			streams[fetches++] = streams[i];
		*busy |= fetch || !streams[i]->waits; /* had it: go on at once */
	}
	return fetch_packets(mirror, streams, fetches, err);
}

static bool poll_streams(struct mirror *mirror, bool *busy, struct error *err)
{
	struct mirror_stream *due[VIEWER_AT_ONCE];
	int64_t now = clock_ms();
	struct pace pace = pace_of(mirror, now);
	size_t count = 0;

	mirror->cold_ms = pace.cold;
	for (size_t i = 0; i < mirror->nstreams; i++) {
		struct mirror_stream *stream = mirror->streams[i];
		if (!stream->over && !stream->trace->session->ended && stream->next <= now)
			due[count++] = stream;
		if (count < VIEWER_AT_ONCE && i + 1 < mirror->nstreams)
			continue;
		if (count && !turn(mirror, due, count, &pace, busy, err))
			return false;
		count = 0;
	}
	return true;
}

/* All of it --------------------------------------------------------------------------------------
 */

/* Counts and notes packets that were announced and never sent. */
static void tell_missing(struct mirror *mirror, const struct mirror_session *session)
{
	for (size_t i = 0; i < mirror->nstreams; i++) {
		struct mirror_stream *stream = mirror->streams[i];
		if (stream->trace->session != session || !stream->waits)
			continue;
		char *label = mirror_label(stream);
		notice(&mirror->options->notices, NOTICE_DAMAGE,
		       "%s: the session ended before its packet at %llu was given", label,
		       (unsigned long long)stream->index.offset);
		mirror->counts->missing++;
		stream->waits = false;
		mem_free(label);
	}
}

/* Have all streams ended? Then metadata is requested a last time, and must have come. */
static bool is_drained(struct mirror *mirror, const struct mirror_session *session)
{
	bool drained = true;

	for (size_t i = 0; i < mirror->nstreams; i++)
		if (mirror->streams[i]->trace->session == session && !mirror->streams[i]->over)
			return false;
	for (size_t i = 0; i < mirror->ntraces; i++) {
		struct mirror_trace *trace = mirror->traces[i];
		if (trace->session != session || !trace->has_metadata || trace->over)
			continue;
		if (!trace->asked_last) {
			trace->asked_last = trace->due = true;
			trace->due_at = 0;
		}
		drained &= !trace->due;
	}
	return drained;
}

/*
 * A session ends when the relay says so and its streams have ended. After a clear some relays go on
 * saying "later", or "nothing new" of metadata that never came: then it ends when it is not listed
 * any more and nothing came for a while.
 */
static bool is_ended(struct mirror *mirror, struct mirror_session *session)
{
	int64_t quiet = 3 * (int64_t)session->timer_ms, now = clock_ms();
	int64_t since = session->gone > session->active ? session->gone : session->active;

	if (session->ended)
		return true;
	quiet = quiet < GONE_MS ? GONE_MS : quiet;
	session->ended = (session->hung_up && is_drained(mirror, session)) ||
			 (session->gone && now - since > quiet);
	if (session->ended)
		tell_missing(mirror, session);
	return session->ended;
}

static bool all_ended(struct mirror *mirror)
{
	bool all = true;

	for (size_t i = 0; i < mirror->nsessions; i++)
		all &= is_ended(mirror, mirror->sessions[i]);
	return all;
}

static unsigned idle_ms(const struct mirror *mirror)
{
	int64_t now = clock_ms(), next = now + IDLE_MOST_MS;

	if (mirror->beacons_wait && mirror->beacons_at < next)
		next = mirror->beacons_at;
	for (size_t i = 0; i < mirror->nstreams; i++)
		if (!mirror->streams[i]->over && mirror->streams[i]->next < next)
			next = mirror->streams[i]->next;
	return next <= now ? 1 : (unsigned)(next - now);
}

bool mirror_follow(struct mirror *mirror, struct error *err)
{
	const struct mirror_options *options = mirror->options;

	for (;;) {
		bool busy = false;
		if (options->limits.stopped && options->limits.stopped(options->limits.arg))
			return error_set(err, ERR_INTERRUPTED, "interrupted");
		if (mirror->list_at <= clock_ms() && !mirror_attach(mirror, err))
			return false;
		if (!ask_streams(mirror, err) || !ask_metadata(mirror, err) ||
		    !poll_streams(mirror, &busy, err) || !mirror_tell_beacons(mirror, err))
			return false;
		mirror->good = clock_ms();
		if (all_ended(mirror))
			return true;
		if (options->progress)
			options->progress(options->limits.arg, mirror->counts);
		if (!busy &&
		    !connection_idle(mirror->connection, &options->limits, idle_ms(mirror), err))
			return false;
	}
}
