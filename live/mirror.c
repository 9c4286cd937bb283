/* mirror.c - runs a mirror to the session's end, over as many connections as needed */
#include "live/mirror.h"

#include "engine/base/mem.h"
#include "engine/base/wait.h"
#include "live/mirror_internal.h"

enum {
	WAIT_FIRST_MS = 100,
	WAIT_MOST_MS = 2000,
	HEALTHY_MS = 10000 /* after so long a connection counts as working */
};

static bool connect_once(struct mirror *mirror, struct error *err)
{
	const struct mirror_options *options = mirror->options;

	bool ok = options->connect ? options->connect(options->limits.arg, &mirror->connection, err)
				   : connection_open(options->url, &options->limits,
						     &mirror->connection, err);
	return ok && viewer_connect(mirror->connection, &mirror->minor, err) &&
	       viewer_create(mirror->connection, err) && mirror_attach(mirror, err);
}

static void disconnect(struct mirror *mirror)
{
	mirror_forget(mirror);
	connection_close(mirror->connection);
	mirror->connection = NULL;
}

/* Mirrors over one connection. True: the session ended; false: the connection did. */
static bool run_once(struct mirror *mirror, struct error *err)
{
	bool ok = connect_once(mirror, err);
	char place[LIVE_PLACE_MAX];

	if (ok && mirror->counts->connections++)
		notice(&mirror->options->notices, NOTICE_INFO, "connected again");
	ok = ok && mirror_follow(mirror, err);
	disconnect(mirror);
	if (!ok && !mirror->fatal && err->kind != ERR_INTERRUPTED)
		error_while(err, "%s", live_url_place(mirror->options->url, place));
	return ok;
}

/* Can connecting again help? Not if no relay ever answered: the user should check the address. */
static bool may_pass(const struct mirror *mirror, const struct error *err, bool first)
{
	return !mirror->fatal && err->kind != ERR_INTERRUPTED && err->kind != ERR_RANGE &&
	       !(first && !mirror->minor);
}

static bool wait_again(struct mirror *mirror, unsigned ms, struct error *err)
{
	return connection_idle(NULL, &mirror->options->limits, ms, err);
}

static void tell_lost(const struct mirror *mirror, const struct error *cause)
{
	notice(&mirror->options->notices, NOTICE_WARNING, "%s: it is tried again for %llu s",
	       cause->text, (unsigned long long)mirror->options->retry_ms / 1000);
}

static bool run_all(struct mirror *mirror, struct error *err)
{
	unsigned wait = WAIT_FIRST_MS;
	int64_t failing = 0; /* since when nothing has come */
	bool first = true;

	for (;; first = false) {
		int64_t begun = clock_ms();
		uint64_t before = mirror->counts->bytes;
		if (run_once(mirror, err))
			return true;
		if (!may_pass(mirror, err, first))
			return false;
		int64_t now = clock_ms();
		bool came = mirror->counts->bytes != before || mirror->good - begun > HEALTHY_MS;
		if (came || !failing) {
			tell_lost(mirror, err);
			failing = now;
			wait = WAIT_FIRST_MS;
		}
		if ((uint64_t)(now - failing) >= mirror->options->retry_ms)
			return false;
		if (!wait_again(mirror, wait, err))
			return false;
		wait = wait * 2 < WAIT_MOST_MS ? wait * 2 : WAIT_MOST_MS;
	}
}

static void release_mirror(struct mirror *mirror)
{
	disconnect(mirror);
	mirror_folder_close(mirror);
	for (size_t i = 0; i < mirror->ntroubles; i++)
		mem_free(mirror->troubles[i].stream);
	mem_free(mirror->troubles);
	mem_free(mirror->sessions);
	mem_free(mirror->traces);
	mem_free(mirror->streams);
	mem_free(mirror->piece);
	nameset_release(&mirror->counted);
}

bool mirror_run(const struct mirror_options *options, struct mirror_counts *out, struct error *err)
{
	struct mirror mirror = {.options = options, .counts = out, .lock = -1};

	*out = (struct mirror_counts){0};
	bool ok = mirror_folder_open(&mirror, err);
	if (ok && mirror.ended_before) {
		out->ended = true;
		release_mirror(&mirror);
		return true;
	}
	mirror.piece = mem_new(LIVE_PIECE_MOST);
	ok = ok && run_all(&mirror, err) && mirror_mark(&mirror, true, err);
	out->ended = ok;
	release_mirror(&mirror);
	return ok;
}
