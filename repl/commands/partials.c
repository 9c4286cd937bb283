/* partials.c - see partials.h */
#include "repl/commands/partials.h"

#include "convert/out.h"
#include "engine/base/mem.h"
#include "index/tables/identity.h"
#include "repl/render/render.h"

#include <stdio.h>
#include <string.h>

enum { CHUNKS_MOST = 1 << 20, SHOWN = 160 };

/* ---- options ---- */

bool partials_asked(const struct options *options, enum partials_mode *out, struct error *err)
{
	bool chunk = options->chunk || options->partial;

	*out = options->merges ? PARTIALS_MERGE : chunk ? PARTIALS_CHUNK : PARTIALS_NONE;
	if (options->slurm)
		return error_set(err, ERR_QUERY, "--slurm is of the command line");
	if (chunk && options->merges)
		return error_set(err, ERR_QUERY,
				 "--merge joins what --chunk and --partial left: it goes without "
				 "them");
	if (!options->chunk != !options->partial)
		return error_set(err, ERR_QUERY,
				 "--chunk I/N and --partial FILE go together: this part of N, and "
				 "where it goes");
	if (*out != PARTIALS_NONE && options->follow)
		return error_set(err, ERR_QUERY, "--follow and %s do not go together",
				 chunk ? "--chunk" : "--merge");
	return true;
}

bool partials_not_sums(const struct options *options, const char *why, struct error *err)
{
	return error_set(err, ERR_QUERY, "%s: this cannot be counted in parts, since %s",
			 options->merges ? "--merge" : "--chunk", why);
}

/* Parses I/N; I may count from 0 or 1: chunk N is chunk 0. */
static bool parse_chunk(const char *text, struct sweep_chunk *out, struct error *err)
{
	unsigned i, n;
	char end;

	if (strspn(text, "0123456789/") != strlen(text) ||
	    sscanf(text, "%9u/%9u%c", &i, &n, &end) != 2 || n == 0 || n > CHUNKS_MOST || i > n)
		return error_set(err, ERR_QUERY,
				 "--chunk takes I/N, such as 2/8: N at most %d, I at most N",
				 CHUNKS_MOST);
	*out = (struct sweep_chunk){.i = i % n, .n = n};
	return true;
}

/* A chunk's number as printed, from 1: chunk 0 is N. */
static unsigned partials_shown(uint32_t i, uint32_t n)
{
	return i ? i : n;
}

/* ---- the question ---- */

static void add_words(struct buf *out, const char *name, const struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		buf_printf(out, "%s %s\n", name, words->items[i]);
}

static bool partials_describe(struct partials *partials, const char *question, size_t len,
			      struct error *err)
{
	struct session *session = partials->session;
	const struct options *options = partials->options;
	struct buf *out = &partials->own.question;
	nstime begin, end;
	uint64_t rules[2];

	if (!session_range(session, &begin, &end, err))
		return false;
	partials->bounded = begin != NSTIME_MIN || end != NSTIME_MAX || options->cpus.count;
	buf_add_text(out, "yore " YORE_VERSION "\n");
	if (begin != NSTIME_MIN)
		buf_printf(out, "--begin %lld ns\n", (long long)begin);
	if (end != NSTIME_MAX)
		buf_printf(out, "--end %lld ns\n", (long long)end);
	add_words(out, "--name", &options->names);
	add_words(out, "--cpu", &options->cpus);
	add_words(out, "--tid", &options->tids);
	add_words(out, "--pid", &options->pids);
	add_words(out, "--comm", &options->comms);
	add_words(out, "--stream", &options->streams);
	add_words(out, "--where", &options->wheres);
	if (session->rules) {
		rules_identity(session->rules, rules);
		buf_printf(out, "rules %016llx%016llx\n", (unsigned long long)rules[0],
			   (unsigned long long)rules[1]);
	}
	if (options->strict)
		buf_add_text(out, "--strict\n");
	buf_add(out, question, len);
	return true;
}

/* ---- files of --merge ---- */

/* Appends the line around `at`, cut for a message. */
static void add_line(struct buf *out, const struct buf *text, size_t at)
{
	const char *bytes = buf_text(text);

	while (at && bytes[at - 1] != '\n')
		at--;
	size_t len = strcspn(bytes + at, "\n");
	if (at >= text->len || !len)
		buf_add_text(out, "nothing of that");
	else
		buf_printf(out, "'%.*s%s'", (int)(len < SHOWN ? len : SHOWN), bytes + at,
			   len < SHOWN ? "" : "...");
}

static bool other_question(const char *file, const struct buf *there, const struct buf *here,
			   struct error *err)
{
	struct buf text = {0};
	size_t at = 0;

	while (at < there->len && at < here->len && there->data[at] == here->data[at])
		at++;
	buf_printf(&text, "%s: it answers another question: ", file);
	add_line(&text, there, at);
	buf_add_text(&text, " there, ");
	add_line(&text, here, at);
	buf_add_text(&text, " here: ask what the parts were asked");
	error_set(err, ERR_RANGE, "%s", buf_text(&text));
	buf_release(&text);
	return false;
}

/* Is the file a part of the answer to this question on this trace? False: *err. */
static bool compare(const struct partials *partials, const char *file, const struct partial *is,
		    struct error *err)
{
	static const char *const names[] = {"", "stats", "sql", "do", "run"};
	const struct partial *own = &partials->own;

	if (is->kind != own->kind)
		return error_set(err, ERR_RANGE, "%s: it is a part of 'yore %s', not of 'yore %s'",
				 file, names[is->kind], names[own->kind]);
	if (is->trace != own->trace)
		return error_set(err, ERR_RANGE, "%s: it is a part of another trace than %s", file,
				 partials->session->path);
	if (is->bytes != own->bytes)
		return error_set(err, ERR_RANGE,
				 "%s: it was made when the trace had %llu bytes, and %s has %llu: "
				 "make all parts of the trace as it is now",
				 file, (unsigned long long)is->bytes, partials->session->path,
				 (unsigned long long)own->bytes);
	if (is->question.len != own->question.len ||
	    memcmp(buf_text(&is->question), buf_text(&own->question), own->question.len) != 0)
		return other_question(file, &is->question, &own->question, err);
	return true;
}

/* Reads a file of --merge; the first one says how many there must be. */
static bool take_file(struct partials *partials, const char *file, struct error *err)
{
	struct partial is;

	if (!partial_read(file, &is, err))
		return false;
	bool good = compare(partials, file, &is, err);
	if (good && !partials->items) {
		good = is.n <= CHUNKS_MOST ||
		       error_set(err, ERR_FORMAT, "%s: it is one of %u parts (byte 28)", file,
				 is.n);
		partials->count = good ? is.n : 0;
		partials->own.n = is.n;
		partials->own.i = is.i;
		partials->items = mem_new_array((size_t)partials->count + 1, sizeof is);
		partials->files = mem_new_array((size_t)partials->count + 1, sizeof file);
	}
	if (good && is.n != partials->own.n)
		good = error_set(err, ERR_RANGE, "%s: it is chunk %u/%u, and %s is chunk %u/%u",
				 file, partials_shown(is.i, is.n), is.n,
				 partials->files[partials->own.i],
				 partials_shown(partials->own.i, partials->own.n), partials->own.n);
	if (good && partials->files[is.i])
		good = error_set(err, ERR_RANGE,
				 "%s: it is chunk %u/%u, as %s is: each part counts once", file,
				 partials_shown(is.i, is.n), is.n, partials->files[is.i]);
	if (!good) {
		partial_release(&is);
		return false;
	}
	partials->items[is.i] = is;
	partials->files[is.i] = file;
	return true;
}

static bool check_all(const struct partials *partials, struct error *err)
{
	uint32_t first = 0, missing = 0;
	uint64_t taken = 0, records = partials->items[partials->own.i].records;

	for (uint32_t i = partials->count; i > 0; i--) {
		uint32_t k = i % partials->count;
		if (!partials->files[k]) {
			missing++;
			first = k;
		}
	}
	if (missing)
		return error_set(
			err, ERR_RANGE,
			"--merge: of %u parts %u %s missing, the first is chunk %u/%u: make "
			"it by --chunk %u/%u --partial FILE",
			partials->count, missing, missing == 1 ? "is" : "are",
			partials_shown(first, partials->count), partials->count,
			partials_shown(first, partials->count), partials->count);
	for (uint32_t i = 0; i < partials->count; i++) {
		taken += partials->items[i].taken;
		if (partials->items[i].records != records)
			return error_set(
				err, ERR_RANGE,
				"%s: it found %llu packets, and %s %llu: the trace was "
				"not the same, make both anew",
				partials->files[i], (unsigned long long)partials->items[i].records,
				partials->files[partials->own.i], (unsigned long long)records);
	}
	return !records || taken == records ||
	       error_set(err, ERR_RANGE,
			 "--merge: the parts have %llu packets in all, and the trace %llu: make "
			 "all of them anew",
			 (unsigned long long)taken, (unsigned long long)records);
}

static void partials_tell_damage(struct partials *partials)
{
	struct buf text = {0};
	uint32_t count = 0;

	for (uint32_t i = 0; i < partials->count; i++) {
		if (!partials->items[i].damaged)
			continue;
		if (count++ < 3)
			buf_printf(&text, "%s%s", count > 1 ? ", " : "", partials->files[i]);
	}
	if (count)
		say("damaged", "%s%s: places could not be read when %s made, which said where",
		    buf_text(&text), count > 3 ? " and others" : "",
		    count == 1 ? "it was" : "they were");
	partials->session->damaged += count;
	buf_release(&text);
}

static bool read_files(struct partials *partials, struct error *err)
{
	const struct words *files = &partials->options->merge;

	for (size_t i = 0; i < files->count; i++)
		if (!take_file(partials, files->items[i], err))
			return false;
	if (!check_all(partials, err))
		return false;
	partials_tell_damage(partials);
	return true;
}

/* ---- all of it ---- */

bool partials_begin(struct session *session, enum partial_kind kind, const char *question,
		    size_t len, struct partials *out, struct error *err)
{
	*out = (struct partials){.session = session, .options = session->options};
	if (!partials_asked(out->options, &out->mode, err))
		return false;
	if (out->mode == PARTIALS_NONE)
		return true;
	if (out->mode == PARTIALS_CHUNK && !parse_chunk(out->options->chunk, &out->chunk, err))
		return false;
	struct trace *trace = session_trace(session, err);
	if (!trace || !partials_describe(out, question, len, err))
		return false;
	out->own.kind = kind;
	out->own.trace = identity_anywhere(trace);
	out->own.bytes = sweep_chunk_bytes(trace);
	return out->mode != PARTIALS_MERGE || read_files(out, err);
}

void partials_end(struct partials *partials)
{
	for (uint32_t i = 0; i < partials->count; i++)
		partial_release(&partials->items[i]);
	mem_free(partials->items);
	mem_free(partials->files);
	partial_release(&partials->own);
	*partials = (struct partials){0};
}

static void say_written(const struct partials *partials, struct sink *sink)
{
	const struct options *options = partials->options;
	const struct partial *own = &partials->own;

	if (options->format == FORMAT_JSON) {
		sink_printf(sink,
			    "{\"chunk\":%u,\"of\":%u,\"partial\":", partials_shown(own->i, own->n),
			    own->n);
		json_text(sink, options->partial);
		sink_text(sink, "}\n");
	} else {
		sink_printf(sink, "chunk %u/%u is in ", partials_shown(own->i, own->n), own->n);
		sink_name(sink, options->partial);
		sink_char(sink, '\n');
	}
	sink_row(sink);
}

static bool write_file(const char *path, const struct partial *own, struct error *err)
{
	struct buf bytes = {0};
	struct out out;

	partial_encode(own, &bytes);
	bool ok = out_open(&out, path, err) && out_write(&out, bytes.data, bytes.len, err) &&
		  out_finish(&out, err);
	out_drop(&out);
	buf_release(&bytes);
	return ok;
}

bool partials_write(struct partials *partials, const struct buf *body, bool whole,
		    struct sink *sink, struct error *err)
{
	struct partial *own = &partials->own;
	const struct session *session = partials->session;

	own->i = partials->chunk.i;
	own->n = partials->chunk.n;
	whole = whole && !partials->bounded;
	own->records = whole ? partials->chunk.records : 0;
	own->taken = whole ? partials->chunk.taken : 0;
	own->damaged = session->damaged ? session->damaged : atomic_load(&session->trace->damaged);
	buf_clear(&own->body);
	buf_add(&own->body, body->data, body->len);
	if (!write_file(partials->options->partial, own, err))
		return false;
	if (strcmp(partials->options->partial, "-") != 0)
		say_written(partials, sink);
	return true;
}

struct cursor partials_body(const struct partials *partials, uint32_t i)
{
	const struct buf *body = &partials->items[i].body;

	return cursor_over(buf_text(body), body->len);
}

bool partials_refuse(const struct partials *partials, uint32_t i, enum partial_taken why,
		     struct error *err)
{
	if (why == PARTIAL_FULL)
		return error_set(err, ERR_RANGE,
				 "%s: with it there are too many groups to keep: ask for fewer",
				 partials->files[i]);
	return error_set(err, ERR_FORMAT,
			 "%s: its body is not what the question makes: make this part again",
			 partials->files[i]);
}

struct partial_work partials_work(struct partials *partials, struct buf *body)
{
	struct partial_work work = {0};

	if (partials->mode == PARTIALS_CHUNK) {
		work.chunk = &partials->chunk;
		work.body = body;
		return work;
	}
	work.count = partials->count;
	work.bodies = mem_new_array((size_t)work.count + 1, sizeof *work.bodies);
	for (uint32_t i = 0; i < work.count; i++)
		work.bodies[i] = partials_body(partials, i);
	return work;
}

bool partials_explain(const struct partials *partials, const struct partial_work *work,
		      struct error *err)
{
	struct buf why = {0};

	if (work->refused)
		return partials_refuse(partials, work->refused_file, work->why, err);
	if (err->kind != ERR_QUERY && err->kind != ERR_RANGE)
		return false;
	buf_add_text(&why, err->text);
	partials_not_sums(partials->options, buf_text(&why), err);
	buf_release(&why);
	return false;
}
