/*
 * cmd_aux.c - writes a hardware trace's bytes to files, one per CPU or thread, and lists the pieces
 *
 *     OUTDIR/cpu0.pt    bytes of CPU 0, end to end (.aux when they are not Intel PT's)
 *            tid42.pt   of a thread, where the recorder kept a buffer per thread
 *            ranges.csv a row per piece: where its bytes stand, and where they came from
 *
 * With --decode, lists the packets in these files instead of the pieces; it reads the files back,
 * so that the list shows what was written.
 */
#include "engine/hwtrace/aux.h"
#include "engine/base/mem.h"
#include "engine/hwtrace/intel_pt.h"
#include "repl/commands/cmds.h"
#include "repl/render/render.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { AT_ONCE = 1 << 20 };

/* --decode, the option that this command alone has. */
static bool decodes(const struct options *options)
{
	return *(const bool *)options->own;
}

struct aux_work {
	struct session *session;
	const struct options *options;
	struct trace *trace;
	const char *folder;
	struct times times;
	struct rows table; /* ranges.csv */
	struct rows rows;  /* rows on standard output */
	struct sink *out;
	struct aux *parts;  /* hardware trace of each part of the trace */
	uint64_t done, all; /* bytes written; bytes in all */
};

static const struct table_column range_columns[] = {
	{"file", false},      {"cpu", true},      {"tid", true},       {"offset", true},
	{"bytes", true},      {"position", true}, {"reference", true}, {"joined", false},
	{"truncated", false}, {"source", false},  {"at", true}};

static const struct table_column packet_columns[] = {
	{"file", false}, {"offset", true},   {"size", true}, {"packet", false},
	{"time", false}, {"payload", false}, {"tsc", true}};

/* One piece or packet ----------------------------------------------------------------------------
 */

static void flag_cell(struct rows *rows, bool flag, const char *yes, const char *no)
{
	struct sink *cell = rows_cell(rows);

	if (rows->format == FORMAT_JSON)
		sink_text(cell, flag ? "true" : "false");
	else
		sink_text(cell, flag ? yes : no);
}

static bool range_row(struct rows *rows, const char *file, const struct aux_buffer *buffer,
		      const struct aux_piece *piece)
{
	rows_text(rows, file);
	rows_u64(rows, buffer->cpu >= 0, (uint64_t)buffer->cpu);
	rows_u64(rows, buffer->tid >= 0, (uint64_t)buffer->tid);
	rows_u64(rows, true, piece->offset);
	rows_u64(rows, true, piece->len);
	rows_u64(rows, true, piece->position);
	rows_u64(rows, true, piece->reference);
	flag_cell(rows, piece->joined, "joined", "apart");
	flag_cell(rows, piece->truncated, "truncated", "");
	rows_text(rows, source_name(piece->source));
	rows_u64(rows, true, piece->at);
	return rows_end(rows);
}

static bool packet_row(struct aux_work *work, const char *file, const struct pt_row *row,
		       bool timed, nstime t)
{
	struct rows *rows = &work->rows;

	rows_text(rows, file);
	rows_u64(rows, true, row->at);
	rows_u64(rows, true, row->size);
	rows_text(rows, row->name);
	struct sink *cell = rows_cell(rows);
	if (timed)
		time_add(&work->times, t, cell);
	rows_text(rows, row->text);
	rows_u64(rows, row->has_tsc, row->tsc);
	return rows_end(rows);
}

static bool packet_json(struct sink *out, const char *file, const struct aux_buffer *buffer,
			const struct pt_row *row, nstime t)
{
	json_member_time(out, "{\"ts\":", t);
	json_member_text(out, ",\"file\":", file);
	json_member_u64(out, ",\"cpu\":", buffer->cpu >= 0, (uint64_t)buffer->cpu);
	json_member_u64(out, ",\"tid\":", buffer->tid >= 0, (uint64_t)buffer->tid);
	sink_printf(out, ",\"offset\":%llu,\"size\":%llu,\"packet\":", (unsigned long long)row->at,
		    (unsigned long long)row->size);
	json_text(out, row->name);
	json_member_text(out, ",\"payload\":", row->text);
	json_member_u64(out, ",\"tsc\":", row->has_tsc, row->tsc);
	sink_text(out, "}\n");
	return sink_row(out);
}

/* A buffer's file --------------------------------------------------------------------------------
 */

static const char *file_name(struct aux_work *work, const struct aux *aux, uint32_t part,
			     const struct aux_buffer *buffer)
{
	char prefix[24] = "", name[32];

	if (part) /* of merged traces, the second and later ones */
		snprintf(prefix, sizeof prefix, "trace%u-", part + 1);
	if (buffer->cpu >= 0)
		snprintf(name, sizeof name, "cpu%d", buffer->cpu);
	else if (buffer->tid >= 0)
		snprintf(name, sizeof name, "tid%lld", (long long)buffer->tid);
	else
		snprintf(name, sizeof name, "buffer%u", buffer->index);
	return arena_printf(work->session->arena, "%s%s.%s", prefix, name,
			    aux->kind.is_intel_pt ? "pt" : "aux");
}

static const char *path_of(const struct aux_work *work, const char *file)
{
	return arena_printf(work->session->arena, "%s/%s", work->folder, file);
}

static bool write_piece(struct aux_work *work, struct out *out, const struct aux_piece *piece,
			struct error *err)
{
	struct block block;

	for (uint64_t done = 0; done < piece->len;) {
		uint64_t left = piece->len - done;
		size_t n = left < AT_ONCE ? (size_t)left : AT_ONCE;
		if (!session_progress_bytes(work->session, work->done, work->all))
			return error_set(err, ERR_INTERRUPTED, "interrupted");
		if (!source_get(piece->source, piece->at + done, n, &block, err))
			return false;
		bool ok = out_write(out, block.data, n, err);
		source_put(&block);
		if (!ok)
			return false;
		done += n;
		work->done += n;
	}
	return true;
}

static bool write_buffer(struct aux_work *work, const char *path, const struct aux_buffer *buffer,
			 struct error *err)
{
	struct out out;
	bool ok = true;

	if (!out_open(&out, path, err))
		return false;
	for (size_t i = 0; ok && i < buffer->npieces; i++)
		ok = write_piece(work, &out, &buffer->pieces[i], err);
	ok = ok && out_finish(&out, err);
	out_drop(&out);
	return ok;
}

static void list_pieces(struct aux_work *work, const char *file, const struct aux_buffer *buffer)
{
	for (size_t i = 0; i < buffer->npieces; i++) {
		const struct aux_piece *piece = &buffer->pieces[i];
		range_row(&work->table, file, buffer, piece);
		if (!decodes(work->options) && !work->out->closed)
			range_row(&work->rows, file, buffer, piece);
	}
}

/* Its packets ------------------------------------------------------------------------------------
 */

/* Converts a packet's time to the clock of the part's streams, which is the recorder's. */
static bool time_of(const struct aux_work *work, uint32_t part, const struct aux_kind *kind,
		    const struct pt_row *row, nstime *out)
{
	const struct trace *trace = work->trace;
	struct error err;
	uint64_t ns;

	if (!row->has_tsc || !intel_pt_time(kind, row->tsc, &ns))
		return false;
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		if (stream->part == part && stream->has_time && stream->clock >= 0)
			return timebase_to_ns(&trace->clocks[stream->clock].base, ns, out, &err);
	}
	*out = (nstime)ns;
	return ns < NSTIME_MAX;
}

/* Places in a file that are no packets: the first, and how many more. */
struct bad {
	struct pt_row first;
	uint64_t places;
};

static void cmd_aux_tell_damage(struct aux_work *work, const char *path, const struct bad *bad)
{
	struct error cause = {0};
	char more[48] = "";

	if (!bad->places)
		return;
	if (bad->places > 1)
		snprintf(more, sizeof more, ", and %llu more places",
			 (unsigned long long)bad->places - 1);
	error_set(&cause, ERR_FORMAT, "%llu bytes at offset %llu are no Intel PT packets: %s%s",
		  (unsigned long long)bad->first.size, (unsigned long long)bad->first.at,
		  bad->first.text, more);
	trace_damage(work->trace, path, &cause);
}

static bool decode_run(struct aux_work *work, uint32_t part, const struct aux *aux,
		       const struct aux_buffer *buffer, const char *file, struct intel_pt *pt,
		       struct bad *bad, struct error *err)
{
	enum step step = STEP_ITEM;
	struct pt_row row;
	uint64_t rows = 0;

	while (!work->out->closed && (step = intel_pt_next(pt, &row, err)) == STEP_ITEM) {
		nstime t = NSTIME_MIN;
		bool timed = time_of(work, part, &aux->kind, &row, &t);
		if (row.damaged && !bad->places++)
			bad->first = row;
		if (work->options->format == FORMAT_JSON)
			packet_json(work->out, file, buffer, &row, timed ? t : NSTIME_MIN);
		else
			packet_row(work, file, &row, timed, t);
		if (++rows % 4096 == 0 && signals_interrupted())
			return error_set(err, ERR_INTERRUPTED, "interrupted");
	}
	return step != STEP_ERROR;
}

/* Decodes a file; each run of pieces that continue one another is a stream of its own. */
static bool decode_buffer(struct aux_work *work, uint32_t part, const struct aux *aux,
			  const struct aux_buffer *buffer, const char *file, struct error *err)
{
	struct source *source;
	struct bad bad = {0};
	bool ok = true;

	if (!source_open(path_of(work, file), SOURCE_AUTO, &source, err))
		return false;
	for (size_t i = 0, next; ok && i < buffer->npieces; i = next) {
		for (next = i + 1; next < buffer->npieces && buffer->pieces[next].joined;)
			next++;
		const struct aux_piece *last = &buffer->pieces[next - 1];
		struct intel_pt *pt = intel_pt_open(source, buffer->pieces[i].position,
						    last->position + last->len);
		ok = decode_run(work, part, aux, buffer, file, pt, &bad, err);
		intel_pt_close(pt);
	}
	source_close(source);
	cmd_aux_tell_damage(work, path_of(work, file), &bad);
	return ok;
}

/* All of a trace ----------------------------------------------------------------------------------
 */

static bool write_part(struct aux_work *work, uint32_t part, struct error *err)
{
	const struct aux *aux = &work->parts[part];
	bool ok = true;

	for (size_t i = 0; ok && i < aux->nbuffers; i++) {
		const struct aux_buffer *buffer = &aux->buffers[i];
		const char *file = file_name(work, aux, part, buffer);
		ok = write_buffer(work, path_of(work, file), buffer, err);
		if (ok)
			list_pieces(work, file, buffer);
		if (ok && decodes(work->options))
			ok = decode_buffer(work, part, aux, buffer, file, err);
	}
	return ok;
}

/* Reports damage of a file; the error's text may begin with its name. */
static void tell_unread(struct aux_work *work, const char *path, struct error *damage)
{
	size_t n = strlen(path);

	if (!strncmp(damage->text, path, n) && !strncmp(damage->text + n, ": ", 2))
		memmove(damage->text, damage->text + n + 2, strlen(damage->text + n + 2) + 1);
	trace_damage(work->trace, path, damage);
}

/* Finds the pieces to write; of damaged data, those before the damage. */
static bool read_parts(struct aux_work *work, struct error *err)
{
	const struct trace *trace = work->trace;
	struct error damage = {0};
	size_t buffers = 0;

	for (size_t i = 0; i < trace->nparts; i++) {
		struct aux *aux = &work->parts[i];
		if (!aux_read(trace->parts[i], aux, &damage))
			tell_unread(work, trace->parts[i]->path, &damage);
		for (size_t k = 0; k < aux->nbuffers; k++)
			work->all += aux->buffers[k].size;
		buffers += aux->nbuffers;
		if (decodes(work->options) && aux->nbuffers && !aux->kind.is_intel_pt)
			return error_set(err, ERR_QUERY,
					 "--decode knows Intel PT only, and %s has %s",
					 trace->parts[i]->path,
					 aux->kind.name ? aux->kind.name : "an unknown kind");
	}
	return buffers ||
	       error_set(err, ERR_RANGE, "%s has no hardware trace", work->session->path);
}

/* Writes ranges.csv, and within it all other files. */
static bool write_table(struct aux_work *work, struct error *err)
{
	const char *path = path_of(work, "ranges.csv");
	struct sink_file file;

	if (!sink_file_open(&file, path, err))
		return false;
	sink_set_exact(&file.sink, true);
	rows_begin(&work->table, &file.sink, FORMAT_CSV, range_columns,
		   sizeof range_columns / sizeof *range_columns);
	bool ok = true;
	for (uint32_t i = 0; ok && i < work->trace->nparts; i++)
		ok = write_part(work, i, err);
	rows_finish(&work->table);
	return sink_file_close(&file, ok, err);
}

static bool write_and_print(struct aux_work *work, struct error *err)
{
	const struct options *options = work->options;

	if (mkdir(work->folder, 0777) != 0 && errno != EEXIST)
		return error_set(err, ERR_IO, "%s: %s", work->folder, strerror(errno));
	if (decodes(options))
		rows_begin(&work->rows, work->out, options->format, packet_columns,
			   sizeof packet_columns / sizeof *packet_columns);
	else
		rows_begin(&work->rows, work->out, options->format, range_columns,
			   sizeof range_columns / sizeof *range_columns);
	bool ok = write_table(work, err);
	rows_finish(&work->rows);
	return ok;
}

static bool run_aux(struct session *session, const struct options *options, struct sink *sink,
		    struct error *err)
{
	struct aux_work work = {.session = session,
				.options = options,
				.folder = options->words.items[0],
				.out = sink};

	work.trace = session_trace(session, err);
	if (!work.trace || (decodes(options) && !session_times(session, &work.times, err)))
		return false;
	work.parts = mem_new_array(work.trace->nparts, sizeof *work.parts);
	bool ok = read_parts(&work, err) && write_and_print(&work, err);
	for (size_t i = 0; i < work.trace->nparts; i++)
		aux_release(&work.parts[i]);
	mem_free(work.parts);
	return ok;
}

static const struct option own_options[] = {
	/* clang-format off */
	{{"--decode", NULL, "list the packets of Intel PT", 0}, TAKE_FLAG, .at = 0},
	{.info.name = NULL},
}; /* clang-format on */

const struct cmd cmd_aux = {
	.name = "aux",
	.args = "OUTDIR",
	.summary = "raw hardware-trace bytes per CPU or thread, to files",
	.help = "Writes the hardware trace (Intel PT, Arm SPE, CoreSight ...) that a recording\n"
		"carries: the bytes of each CPU, or thread, in order, to a file of its own in\n"
		"OUTDIR, which is made if need be, and prints which range of the hardware buffer\n"
		"stands where. OUTDIR/ranges.csv has the same table. --decode lists the packets\n"
		"of Intel PT instead, with the time of the TSC packet that they follow.\n"
		"\n"
		"Examples:\n"
		"  $ yore aux fixtures/golden/intel-pt/perf.data /tmp/yore-pt\n"
		"  $ yore aux fixtures/golden/intel-pt/perf.data /tmp/yore-pt --decode\n",
	.options = OPT_TRACE | OPT_FORMAT,
	.own = own_options,
	.own_bytes = sizeof(bool),
	.words = WORD_FILE,
	.min_words = 1,
	.max_words = 1,
	.run = run_aux,
};
