/* exchange.c - see exchange.h */
#include "state/timelines/exchange.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "index/store/segment.h"
#include "index/tables/identity.h"
#include "state/context/context.h"
#include "state/timelines/claims.h"
#include "state/timelines/shards_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { POLL_LEAST_MS = 10, POLL_MOST_MS = 500, RETRIES = 5 };

/* ---- the folder ---- */

static bool exchange_make_folder(const char *dir, struct error *err)
{
	char *copy = mem_strdup(dir);
	bool ok = folders_make(copy, 1, true, 0700) ||
		  error_set(err, ERR_IO, "%s: %s", dir, strerror(errno));

	mem_free(copy);
	return ok && (!folder_is_shared(dir) ||
		      error_set(err, ERR_IO,
				"%s: other users may write there: use a folder of your own "
				"(chmod go-w)",
				dir));
}

/* A hash of the trace and the sizes of its files, the same on every machine. */
static uint64_t trace_id(const struct trace *trace)
{
	uint64_t bytes, id[2] = {identity_anywhere(trace), timelines_extent(trace, &bytes)};

	return XXH3_64bits(id, sizeof id);
}

/* Waits, longer each time. False: interrupted. */
static bool wait_for_others(const struct exchange_options *options, unsigned *ms, struct error *err)
{
	struct timespec tick = {.tv_nsec = *ms * 1000000L};

	nanosleep(&tick, NULL);
	*ms = *ms * 2 < POLL_MOST_MS ? *ms * 2 : POLL_MOST_MS;
	return options->goes_on(options->arg) || error_set(err, ERR_INTERRUPTED, "interrupted");
}

static enum claimed claim(struct claims *claims, const struct shards_plan *plan,
			  enum shard_file kind, uint32_t i, struct error *err)
{
	struct buf path = {0};
	enum claimed claimed;

	(void)shard_file_path(plan, kind, i, &path);
	buf_add_text(&path, ".claim");
	claimed = claims_take(claims, path.data, err);
	buf_release(&path);
	return claimed;
}

/* Waits until the file exists, or this process got the claim and has to make it (*ours). */
static bool await(const struct exchange_options *options, struct claims *claims,
		  const struct shards_plan *plan, enum shard_file kind, bool *ours,
		  struct error *err)
{
	enum claimed claimed = CLAIM_BUSY;
	unsigned ms = POLL_LEAST_MS;

	*ours = false;
	while (!shard_file_there(plan, kind, 0)) {
		claimed = claim(claims, plan, kind, 0, err);
		if (claimed == CLAIM_FAILED ||
		    (claimed == CLAIM_BUSY && !wait_for_others(options, &ms, err)))
			return false;
		*ours = claimed == CLAIM_OURS && !shard_file_there(plan, kind, 0);
		if (*ours)
			return true;
	}
	return true;
}

/* ---- records and plan ---- */

static bool export_records(struct index *index, const struct shards_plan *place, struct error *err)
{
	char suffix[SHARD_SUFFIX];
	struct buf to = {0};
	const char *name = shard_file_path(place, SHARD_RECORDS, 0, &to);
	bool ok = index_build(index, err) &&
		  index_export(index, to.data, shard_suffix(suffix), name, place->id, err);

	buf_release(&to);
	return ok;
}

bool exchange_records(struct index *index, const struct exchange_options *options,
		      struct error *err)
{
	struct shards_plan place = {.id = trace_id(index_trace(index))};
	struct claims *claims;
	struct buf path = {0};
	bool ok = exchange_make_folder(options->dir, err), ours;

	if (!ok || !index_writable(index)) /* another process of this machine writes the index */
		return ok;
	claims = claims_new(options->lapse);
	buf_printf(&path, "%s/%016" PRIx64, options->dir, place.id);
	place.files = path.data;
	ok = await(options, claims, &place, SHARD_RECORDS, &ours, err);
	if (ok && ours) {
		ok = export_records(index, &place, err);
	} else if (ok) {
		struct buf from = {0};
		const char *name = shard_file_path(&place, SHARD_RECORDS, 0, &from);

		(void)index_import(index, from.data, name, place.id);
		buf_release(&from);
	}
	claims_free(claims);
	buf_release(&path);
	return ok;
}

static bool plan_of(struct state *state, const struct exchange_options *options,
		    struct claims *claims, struct shards_plan *plan, struct error *err)
{
	struct buf files = {0};
	bool ours;

	if (!shards_place(state, plan))
		return error_set(err, ERR_IO, "timelines need an index that is kept");
	buf_printf(&files, "%s/%016" PRIx64 ".timelines-%016" PRIx64, options->dir,
		   trace_id(state->event_source->trace), plan->key.rules[0]);
	mem_free(plan->files);
	plan->files = files.data;
	if (!shards_prepare(state, plan->path, err) ||
	    !await(options, claims, plan, SHARD_PLAN, &ours, err))
		return false;
	if (!ours && shards_plan_read(plan))
		return true;
	if (options->workers < 1 || options->workers > SHARDS_MAX / EXCHANGE_SHARDS)
		return error_set(err, ERR_QUERY, "from 1 to %d workers",
				 SHARDS_MAX / EXCHANGE_SHARDS);
	return shards_plan_make(state, options->workers * EXCHANGE_SHARDS, 1, plan, err);
}

bool exchange_plan(struct state *state, const struct exchange_options *options,
		   struct shards_plan *out, struct error *err)
{
	struct claims *claims = claims_new(options->lapse);
	bool ok = plan_of(state, options, claims, out, err);

	claims_free(claims);
	return ok;
}

/* ---- steps ---- */

struct exchange {
	const struct exchange_options *options;
	struct state *state;
	struct shards_work work; /* of the current step */
	struct shards_plan plan,
		local; /* one plan: `files` is in the exchange folder, or in our index folder */
	struct claims *claims;
	bool *started, *built; /* by shard: its START or BUILT file was seen */
	unsigned failures;     /* steps that failed since the last success; */
	unsigned imports;      /* imports that failed */
};

static bool has(const struct exchange *exchange, enum shard_file kind, uint32_t i)
{
	bool *known = kind == SHARD_START   ? &exchange->started[i]
		      : kind == SHARD_BUILT ? &exchange->built[i]
					    : NULL;
	bool is = (known && *known) || shard_file_there(&exchange->plan, kind, i);

	if (known)
		*known = is;
	return is;
}

/* Removes a damaged file, so that its step is done again. */
static void disown(struct exchange *exchange, enum shard_file kind, uint32_t i)
{
	shard_file_remove(&exchange->plan, kind, i);
	if (kind == SHARD_START)
		exchange->started[i] = false;
	else if (kind == SHARD_BUILT)
		exchange->built[i] = false;
}

static bool is_whole(struct exchange *exchange, enum shard_file kind, uint32_t i,
		     struct shard_note *note)
{
	bool whole = shard_file_read(&exchange->plan, kind, i, note, NULL);

	if (!whole)
		disown(exchange, kind, i);
	return whole;
}

/* Builds shard i and notes it as imported here. */
static bool build(struct exchange *exchange, uint32_t i, struct error *err)
{
	struct timelines_built built;
	struct shard_note note;

	if (i > 0 && !is_whole(exchange, SHARD_START, i, NULL))
		return true;
	if (!shards_build(&exchange->work, i, &built, err))
		return false;
	return !is_whole(exchange, SHARD_BUILT, i, &note) ||
	       shard_file_write(&exchange->local, SHARD_BUILT, i, &note, NULL, err);
}

static bool join(struct exchange *exchange, uint32_t first, struct error *err)
{
	uint64_t replayed;

	return (first > 1 && !is_whole(exchange, SHARD_START, first - 1, NULL)) ||
	       shards_merge(&exchange->work, first, &replayed, err);
}

static bool do_once(struct exchange *exchange, enum shard_file kind, uint32_t i, struct error *err)
{
	bool ok = shards_work_begin(exchange->state, &exchange->plan, &exchange->work, err);

	exchange->work.exchange = true;
	ok = ok && (kind == SHARD_SUMMARY ? shards_summarize(&exchange->work, i, err)
		    : kind == SHARD_START ? join(exchange, i, err)
					  : build(exchange, i, err));
	shards_work_end(&exchange->work);
	return ok;
}

/*
 * Does a claimed step and gives up the claim. A step that failed is tried again, here or elsewhere:
 * its files may be gone since another process did it, too.
 */
static bool do_step(struct exchange *exchange, enum shard_file kind, uint32_t i, struct error *err)
{
	bool ok = do_once(exchange, kind, i, err);
	unsigned ms = POLL_MOST_MS;

	claims_give_up(exchange->claims);
	if (ok)
		exchange->failures = 0;
	else if (err->kind != ERR_INTERRUPTED && exchange->failures++ < RETRIES)
		ok = has(exchange, kind, i) || wait_for_others(exchange->options, &ms, err);
	return ok;
}

/* *done: this process got the claim. The join is one step, whichever start it begins with. */
static bool try_step(struct exchange *exchange, enum shard_file kind, uint32_t i, bool *done,
		     struct error *err)
{
	uint32_t number = kind == SHARD_START ? 0 : i;

	switch (claim(exchange->claims, &exchange->plan, kind, number, err)) {
	case CLAIM_FAILED:
		return false;
	case CLAIM_BUSY:
		return true;
	case CLAIM_OURS:
		break;
	}
	*done = true;
	if (!has(exchange, kind, i))
		return do_step(exchange, kind, i, err);
	claims_give_up(exchange->claims);
	return true;
}

/* Does one step if there is one to do (*done). *all: all shards are built. */
static bool next_step(struct exchange *exchange, bool *done, bool *all, struct error *err)
{
	const uint32_t n = exchange->plan.n;
	uint32_t first = 1;
	bool ok = true;

	*done = false;
	*all = true;
	while (first < n && has(exchange, SHARD_START, first))
		first++;
	if (first < n && has(exchange, SHARD_SUMMARY, first - 1))
		ok = try_step(exchange, SHARD_START, first, done, err);
	for (uint32_t i = first - 1; i + 1 < n && ok && !*done; i++)
		if (!has(exchange, SHARD_SUMMARY, i) && !has(exchange, SHARD_START, i + 1))
			ok = try_step(exchange, SHARD_SUMMARY, i, done, err);
	for (uint32_t i = 0; i < n && ok && !*done; i++)
		if (!has(exchange, SHARD_BUILT, i)) {
			*all = false;
			if (i < first)
				ok = try_step(exchange, SHARD_BUILT, i, done, err);
		}
	*all = *all && !*done;
	return ok;
}

/* ---- the end ---- */

/* Writes the notes of all shards; empty: events strayed, there are no timelines. */
static bool write_manifest(struct exchange *exchange, struct error *err)
{
	const struct shards_plan *plan = &exchange->plan;
	struct buf notes = {0};
	struct shard_note note;
	bool whole = true, ok = true;

	for (uint32_t i = 0; i < plan->n && whole; i++) {
		whole = is_whole(exchange, SHARD_BUILT, i, &note);
		buf_add(&notes, &note, sizeof note);
	}
	if (whole) {
		if (shards_strayed(plan))
			buf_clear(&notes);
		ok = shard_file_write(plan, SHARD_MANIFEST, 0, NULL, &notes, err);
	}
	buf_release(&notes);
	return ok;
}

/* Removes slices that differ from their note, so that their shard is built again. */
static void disown_slices(struct exchange *exchange, uint32_t i)
{
	shard_file_remove(&exchange->plan, SHARD_SLICES, i);
	disown(exchange, SHARD_BUILT, i);
	disown(exchange, SHARD_MANIFEST, 0);
}

static bool import_slices(struct exchange *exchange, uint32_t i, const struct shard_note *note,
			  const char *path, struct error *err)
{
	const struct shards_plan *plan = &exchange->plan;
	struct segment_id id = {plan->id, 1, note->size, note->check};
	struct segment *segment;
	struct buf from = {0};
	const char *name = shard_file_path(plan, SHARD_SLICES, i, &from);
	int failed = segment_open_read(from.data, name, &id, &segment);
	bool damaged = failed == SEGMENT_DAMAGED || failed == ENOENT, ok = !failed;

	if (ok) {
		ok = store_import(path, segment, &damaged, err);
		segment_close(segment);
	} else {
		error_set(err, ERR_IO, "%s: %s", from.data,
			  damaged ? "is damaged" : strerror(failed));
	}
	if (damaged)
		disown_slices(exchange, i);
	buf_release(&from);
	return ok && shard_file_write(&exchange->local, SHARD_BUILT, i, note, NULL, err);
}

/* Imports the slices of shard i unless they are here already. */
static bool import_new(struct exchange *exchange, uint32_t i, const struct shard_note *note,
		       struct error *err)
{
	char *path = shards_path(&exchange->plan, i);
	struct shard_note known;
	bool here = shard_file_read(&exchange->local, SHARD_BUILT, i, &known, NULL) &&
		    !memcmp(&known, note, sizeof known) && store_exists(path);
	bool ok = here || import_slices(exchange, i, note, path, err);

	mem_free(path);
	return ok;
}

/* Processes that share an index folder import one after the other. A file; -1: errno. */
static int lock_imports(const char *path)
{
	int fd;

	do /* the previous process removes the file */
		fd = file_create_locked(path, UINT_MAX);
	while (fd < 0 && errno == EWOULDBLOCK);
	return fd;
}

static bool import_all(struct exchange *exchange, const struct buf *notes, struct error *err)
{
	struct buf path = {0};
	bool ok = true;
	int lock;

	buf_printf(&path, "%s.importing", exchange->plan.path);
	lock = lock_imports(path.data);
	if (lock < 0)
		ok = error_set(err, ERR_IO, "%s: %s", path.data, strerror(errno));
	for (uint32_t i = 0; i < exchange->plan.n && ok; i++) {
		struct shard_note note;

		memcpy(&note, notes->data + i * sizeof note, sizeof note);
		ok = import_new(exchange, i, &note, err);
	}
	if (ok)
		shards_end(&exchange->local);
	if (lock >= 0) {
		unlink(path.data);
		close(lock);
	}
	buf_release(&path);
	return ok;
}

/* *over: there is a manifest. Then imports the slices, or removes all timelines if it is empty. */
static bool try_end(struct exchange *exchange, bool *over, struct timelines_built *out,
		    struct error *err)
{
	const struct shards_plan *plan = &exchange->plan;
	struct buf notes = {0};
	bool ok = true;

	*over = shard_file_read(plan, SHARD_MANIFEST, 0, NULL, &notes) &&
		(!notes.len || notes.len == plan->n * sizeof(struct shard_note));
	if (*over && !notes.len)
		ok = shards_give_up(plan, out, err);
	else if (*over)
		ok = import_all(exchange, &notes, err) &&
		     (shards_built(&exchange->local, out) ||
		      error_set(err, ERR_IO, "%s: what was imported is damaged", plan->path));
	buf_release(&notes);
	return ok;
}

/* Counts failed imports: damaged slices are built again by some process. */
static bool may_import_again(struct exchange *exchange, const struct error *err)
{
	return err->kind != ERR_INTERRUPTED && exchange->imports++ < RETRIES + exchange->plan.n;
}

static bool exchange_run(struct exchange *exchange, struct timelines_built *out, struct error *err)
{
	unsigned ms = POLL_LEAST_MS;
	bool over = false, done, all;

	for (;;) {
		if (try_end(exchange, &over, out, err)) {
			if (over)
				return true;
		} else if (!may_import_again(exchange, err)) {
			return false;
		}
		if (!next_step(exchange, &done, &all, err))
			return false;
		if (all && !write_manifest(exchange, err))
			return false;
		if (done)
			ms = POLL_LEAST_MS;
		else if (!wait_for_others(exchange->options, &ms, err))
			return false;
	}
}

/* Stores the plan in the index folder; files of another plan there do not count any more. */
static bool begin_local(struct exchange *exchange, struct state *state, struct error *err)
{
	struct shards_plan known;
	bool same = shards_plan_stored(state, &known) && known.id == exchange->plan.id;

	shards_plan_release(&known);
	exchange->local = exchange->plan;
	exchange->local.files = exchange->plan.path;
	return same || shards_plan_write(&exchange->local, err);
}

bool exchange_build(struct state *state, const struct exchange_options *options,
		    struct timelines_built *out, struct error *err)
{
	struct exchange exchange = {.options = options, .claims = claims_new(options->lapse)};
	bool ok = plan_of(state, options, exchange.claims, &exchange.plan, err);

	claims_give_up(exchange.claims);
	if (ok) {
		exchange.state = state;
		exchange.started = mem_new_array(exchange.plan.n, sizeof *exchange.started);
		exchange.built = mem_new_array(exchange.plan.n, sizeof *exchange.built);
		ok = begin_local(&exchange, state, err) && exchange_run(&exchange, out, err);
	}
	claims_free(exchange.claims);
	shards_plan_release(&exchange.plan);
	mem_free(exchange.started);
	mem_free(exchange.built);
	return ok;
}
