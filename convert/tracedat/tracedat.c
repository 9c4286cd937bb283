/*
 * tracedat.c - trace.dat of version 6, as trace-cmd reads it, or a folder of bare pages
 *
 *     17 08 44 "tracing" "6" · byte order · long size · u32 page size
 *     header_page · header_event · ftrace formats · event formats · kallsyms · printk · cmdlines
 *     u32 CPUs · "options  " {u16 id, u32 size, data} ... 0 · "flyrecord"
 *     per CPU {u64 offset, u64 size} · pages
 *
 * (trace-cmd.dat.v6(5).) The folder has the same in files, named as tracefs names them:
 *
 *     events/header_page  events/header_event  events/SYSTEM/EVENT/format  kallsyms  printk_formats
 *     saved_cmdlines  trace_clock  per_cpu/cpuN/trace_pipe_raw
 *
 * CPUs of the first host keep their numbers; those of other hosts follow, then for each part one
 * CPU for events without CPU. If the first event is before 0, times are counted from it, and the
 * option OFFSET has the difference.
 */
#include "convert/convert_internal.h"
#include "convert/tracedat/ring.h"
#include "convert/tracedat/tracepoints.h"
#include "convert/track_names.h"
#include "engine/base/mem.h"

#include <stdio.h>
#include <string.h>

enum { NO_PLACE = UINT32_MAX, CPUS_MOST = 1 << 16 };
enum {
	OPTION_DATE = 1,
	OPTION_CLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_OFFSET = 7,
	OPTION_CPUS = 8,
	OPTION_VERSION = 9
};

struct host_cpus {
	uint32_t *places; /* by CPU: its number in the ring; NO_PLACE: none yet */
	size_t count;
};

struct tracedat {
	struct convert of;
	struct ring_writer *ring;
	struct tracepoints *points;
	struct host_cpus *hosts; /* by part; parts of one host share the first part's */
	uint32_t *host_of;     /* by part */
	uint32_t *without_cpu; /* by part: number in the ring */
	nstime base;           /* stamps are times less this */
	struct buf record;
	uint64_t unsaid, too_long;
	bool big_endian;
};

/* Is the output the folder of pages? */
static bool tracedat_is_folder(const struct tracedat *dat)
{
	return dat->of.format->kind.folder;
}

/* ---- events ---- */

static uint32_t *grown(struct host_cpus *host, uint32_t cpu)
{
	size_t count = host->count;

	if (cpu >= count) {
		host->count = cpu + 1;
		host->places = mem_resize(host->places, host->count, sizeof *host->places);
		while (count < host->count)
			host->places[count++] = NO_PLACE;
	}
	return &host->places[cpu];
}

static uint32_t cpu_place(struct tracedat *dat, const struct stream *stream, int32_t cpu)
{
	uint32_t *place = cpu >= 0 && cpu < CPUS_MOST
				  ? grown(&dat->hosts[dat->host_of[stream->part]], (uint32_t)cpu)
				  : &dat->without_cpu[stream->part];

	if (*place == NO_PLACE)
		*place = ring_add_cpu(dat->ring);
	return *place;
}

static bool tracedat_event(void *self, nstime t, const struct stream *stream, int32_t cpu,
			   const struct event_class *class, const struct fields *fields,
			   struct error *err)
{
	struct tracedat *dat = self;
	bool fits;

	if (t == NSTIME_MIN)
		return true; /* an event before all others has no time */
	buf_clear(&dat->record);
	if (!fields || !tracepoints_record(dat->points, class, stream, fields, &dat->record)) {
		dat->unsaid++;
		return true;
	}
	if (!ring_add(dat->ring, cpu_place(dat, stream, cpu), (uint64_t)t - (uint64_t)dat->base,
		      (const uint8_t *)dat->record.data, dat->record.len, &fits, err))
		return false;
	dat->too_long += !fits;
	return true;
}

static bool tracedat_loss(void *self, const struct event *loss, struct error *err)
{
	struct tracedat *dat = self;

	if (loss->loss_kind != LOSS_TOLD)
		return true;
	return ring_add_loss(dat->ring, cpu_place(dat, loss->stream, loss->cpu),
			     !loss->lost_unknown && loss->lost, loss->lost, err);
}

/* ---- the file ---- */

static void tracedat_add_number(const struct tracedat *dat, struct buf *out, uint64_t number,
				unsigned bytes)
{
	ring_put((uint8_t *)buf_room(out, bytes), number, bytes, dat->big_endian);
	out->len += bytes;
}

static void add_sized(const struct tracedat *dat, struct buf *out, const struct buf *text,
		      unsigned bytes)
{
	tracedat_add_number(dat, out, text->len, bytes);
	buf_add(out, text->data, text->len);
}

static void add_option(const struct tracedat *dat, struct buf *out, unsigned id, const char *text)
{
	tracedat_add_number(dat, out, id, 2);
	tracedat_add_number(dat, out, strlen(text) + 1, 4);
	buf_add(out, text, strlen(text) + 1);
}

static void add_header_page(const struct tracedat *dat, struct buf *text)
{
	unsigned longs = tracepoints_long_bytes(dat->points);

	buf_printf(text,
		   "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		   "\tfield: local_t commit;\toffset:8;\tsize:%u;\tsigned:1;\n"
		   "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		   "\tfield: char data;\toffset:%u;\tsize:%u;\tsigned:0;\n",
		   longs, 8 + longs, RING_PAGE - 8 - longs);
}

static void add_header_event(struct buf *text)
{
	buf_add_text(text, "# compressed entry header\n\ttype_len    :    5 bits\n"
			   "\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n"
			   "\tpadding     : type == 29\n\ttime_extend : type == 30\n"
			   "\ttime_stamp : type == 31\n\tdata max type_len  == 28\n");
}

static void add_headers(const struct tracedat *dat, struct buf *out)
{
	struct buf text = {0};

	buf_add(out, "\x17\x08\x44tracing6", 12);
	tracedat_add_number(dat, out, dat->big_endian, 1);
	tracedat_add_number(dat, out, tracepoints_long_bytes(dat->points), 1);
	tracedat_add_number(dat, out, RING_PAGE, 4);
	buf_add(out, "header_page", 12);
	add_header_page(dat, &text);
	add_sized(dat, out, &text, 8);
	buf_add(out, "header_event", 13);
	buf_clear(&text);
	add_header_event(&text);
	add_sized(dat, out, &text, 8);
	buf_release(&text);
}

/* Appends the formats of the system `wanted`, from format *i on; returns how many. */
static uint32_t add_system(const struct tracedat *dat, size_t *i, const char *wanted,
			   struct buf *out)
{
	struct buf text = {0};
	const char *system;
	uint32_t count = 0;

	for (; tracepoints_format(dat->points, *i, &system, &text) && !strcmp(system, wanted);
	     ++*i, count++) {
		add_sized(dat, out, &text, 8);
		buf_clear(&text);
	}
	buf_release(&text);
	return count;
}

static void add_formats(const struct tracedat *dat, struct buf *out)
{
	struct buf ftrace = {0}, own = {0}, text = {0}, body = {0};
	uint32_t nftrace = 0, nsystems = 0, count;
	const char *system;

	for (size_t i = 0; tracepoints_format(dat->points, i, &system, &text); nsystems++) {
		buf_clear(&body);
		count = add_system(dat, &i, system, &body);
		buf_clear(&text);
		if (!strcmp(system, "ftrace")) {
			buf_add(&ftrace, body.data, body.len);
			nftrace = count;
			nsystems--;
			continue;
		}
		buf_add(&own, system, strlen(system) + 1);
		tracedat_add_number(dat, &own, count, 4);
		buf_add(&own, body.data, body.len);
	}
	tracedat_add_number(dat, out, nftrace, 4);
	buf_add(out, ftrace.data, ftrace.len);
	tracedat_add_number(dat, out, nsystems, 4);
	buf_add(out, own.data, own.len);
	buf_release(&ftrace);
	buf_release(&own);
	buf_release(&text);
	buf_release(&body);
}

/* Fills the texts of symbols, printk formats, and the last name of each thread. */
static void make_names(const struct tracedat *dat, struct buf *symbols, struct buf *printk,
		       struct buf *names)
{
	const struct track_names *all = dat->of.names;
	int64_t tid;

	tracepoints_symbols(dat->points, symbols, printk);
	for (size_t at = 0; track_next_thread(all, &at, &tid);)
		buf_printf(names, "%lld %s\n", (long long)tid,
			   track_name(all, TRACK_THREAD, tid, NSTIME_MAX - 1));
}

static void add_names(const struct tracedat *dat, struct buf *out)
{
	struct buf symbols = {0}, printk = {0}, names = {0};

	make_names(dat, &symbols, &printk, &names);
	add_sized(dat, out, &symbols, 4);
	add_sized(dat, out, &printk, 4);
	add_sized(dat, out, &names, 8);
	buf_release(&symbols);
	buf_release(&printk);
	buf_release(&names);
}

/* The trace_clock with the trace's times; NULL: not known, or shifted, or several. */
static const char *clock_name(const struct tracedat *dat)
{
	static const char *const known[][2] = {{"monotonic", "[mono]"},
					       {"sched_clock", "[local]"},
					       {"boottime", "[boot]"},
					       {"tai", "[tai]"},
					       {"monotonic_raw", "[mono_raw]"}};
	const char *counter = trace_counter(dat->of.options.trace);

	for (size_t i = 0; counter && !dat->base && i < sizeof known / sizeof *known; i++)
		if (!strcmp(counter, known[i][0]))
			return known[i][1];
	return NULL;
}

/* Adds the output of uname(1), from the environment of the parts. */
static void add_uname(const struct tracedat *dat, struct buf *out)
{
	const struct trace *trace = dat->of.options.trace;
	const char *release = trace_kernel_release(trace);
	struct buf text = {0};

	for (size_t i = 0; i < trace->nparts && !text.len; i++)
		if (part_env_text(trace->parts[i], "uname"))
			buf_add_text(&text, part_env_text(trace->parts[i], "uname"));
	for (size_t i = 0; i < trace->nparts && !text.len; i++)
		if (*part_host(trace->parts[i]))
			buf_printf(&text, "Linux %s %s", part_host(trace->parts[i]),
				   release ? release : "");
	if (text.len)
		add_option(dat, out, OPTION_UNAME, buf_text(&text));
	buf_release(&text);
}

static void add_options(const struct tracedat *dat, uint32_t ncpus, struct buf *out)
{
	const char *clock = clock_name(dat);
	char number[32];

	buf_add(out, "options  ", 10);
	if (trace_has_epoch(dat->of.options.trace))
		add_option(dat, out, OPTION_DATE, "0x0");
	if (clock)
		add_option(dat, out, OPTION_CLOCK, clock);
	add_uname(dat, out);
	if (dat->base) {
		snprintf(number, sizeof number, "%lld", (long long)dat->base);
		add_option(dat, out, OPTION_OFFSET, number);
	}
	tracedat_add_number(dat, out, OPTION_CPUS, 2);
	tracedat_add_number(dat, out, 4, 4);
	tracedat_add_number(dat, out, ncpus, 4);
	add_option(dat, out, OPTION_VERSION, "yore");
	tracedat_add_number(dat, out, 0, 2);
}

/*
 * Numbers the CPUs of the output. Returns, by CPU, its number in the ring; NO_PLACE: no events. The
 * caller frees it.
 */
static uint32_t *number_cpus(const struct tracedat *dat, uint32_t *count)
{
	const struct trace *trace = dat->of.options.trace;
	size_t most = 1;
	uint32_t n = 0;

	for (size_t i = 0; i < trace->nparts; i++)
		most += dat->hosts[i].count + 1;
	uint32_t *places = mem_new_array(most, sizeof *places);
	for (size_t i = 0; i < trace->nparts; i++)
		for (size_t cpu = 0; cpu < dat->hosts[i].count; cpu++)
			places[n++] = dat->hosts[i].places[cpu];
	for (size_t i = 0; i < trace->nparts; i++)
		if (dat->without_cpu[i] != NO_PLACE)
			places[n++] = dat->without_cpu[i];
	if (!n)
		places[n++] = NO_PLACE;
	*count = n;
	return places;
}

static uint64_t tracedat_bytes_of(const struct tracedat *dat, uint32_t place)
{
	return place == NO_PLACE ? 0 : ring_bytes(dat->ring, place);
}

static bool write_file(struct tracedat *dat, const uint32_t *places, uint32_t ncpus,
		       struct error *err)
{
	struct buf head = {0};
	bool ok = true;

	add_headers(dat, &head);
	add_formats(dat, &head);
	add_names(dat, &head);
	tracedat_add_number(dat, &head, ncpus, 4);
	add_options(dat, ncpus, &head);
	buf_add(&head, "flyrecord", 10);
	size_t table = (size_t)ncpus * 16;
	uint64_t at = (head.len + table + RING_PAGE - 1) / RING_PAGE * RING_PAGE;
	for (uint32_t i = 0; i < ncpus; i++) {
		tracedat_add_number(dat, &head, at, 8);
		tracedat_add_number(dat, &head, tracedat_bytes_of(dat, places[i]), 8);
		at += tracedat_bytes_of(dat, places[i]);
	}
	size_t gap = (RING_PAGE - head.len % RING_PAGE) % RING_PAGE;
	memset(buf_room(&head, gap + 1), 0, gap);
	head.len += gap;
	ok = out_write(&dat->of.out, head.data, head.len, err);
	for (uint32_t i = 0; i < ncpus && ok; i++)
		ok = places[i] == NO_PLACE || ring_write(dat->ring, places[i], &dat->of.out, err);
	buf_release(&head);
	return ok;
}

/* ---- the folder ---- */

/* The event name at the beginning of a format's text. */
static const char *format_name(const struct buf *format, int *len)
{
	const char *name = buf_text(format);

	name += strcspn(name, ":");
	name += strspn(name, ": ");
	*len = (int)strcspn(name, "\n");
	return name;
}

static bool write_formats(struct tracedat *dat, struct error *err)
{
	struct buf text = {0}, path = {0};
	struct nameset taken = {0};
	const char *system;
	bool ok = true;
	int len;

	for (size_t i = 0; ok && tracepoints_format(dat->points, i, &system, &text); i++) {
		const char *name = format_name(&text, &len);
		buf_clear(&path);
		buf_printf(&path, "events/%s/%.*s", system, len, name);
		for (size_t k = 7; k < path.len; k++) /* a name is one part of a path */
			if (path.data[k] == '/' && k != 7 + strlen(system))
				path.data[k] = '.';
		nameset_make_free(&taken, &path, 0, "-");
		nameset_add(&taken, path.data, 0);
		ok = out_folder_make(&dat->of.folder, buf_text(&path), err);
		buf_add_text(&path, "/format");
		ok = ok && out_write_inside(&dat->of.folder, buf_text(&path), &text, err);
		buf_clear(&text);
	}
	nameset_release(&taken);
	buf_release(&path);
	buf_release(&text);
	return ok;
}

static bool write_texts(struct tracedat *dat, struct error *err)
{
	enum { PAGE, EVENT, SYMBOLS, PRINTK, NAMES, CLOCK, TEXTS };
	static const char *const files[TEXTS] = {
		[PAGE] = "events/header_page", [EVENT] = "events/header_event",
		[SYMBOLS] = "kallsyms",        [PRINTK] = "printk_formats",
		[NAMES] = "saved_cmdlines",    [CLOCK] = "trace_clock"};
	struct buf texts[TEXTS] = {0};
	bool ok = out_folder_make(&dat->of.folder, "events", err) && write_formats(dat, err);

	add_header_page(dat, &texts[PAGE]);
	add_header_event(&texts[EVENT]);
	make_names(dat, &texts[SYMBOLS], &texts[PRINTK], &texts[NAMES]);
	if (clock_name(dat))
		buf_printf(&texts[CLOCK], "%s\n", clock_name(dat));
	for (size_t i = 0; i < TEXTS; i++) {
		if (i != CLOCK || texts[i].len)
			ok = ok && out_write_inside(&dat->of.folder, files[i], &texts[i], err);
		buf_release(&texts[i]);
	}
	return ok;
}

static bool write_pages(struct tracedat *dat, uint32_t cpu, uint32_t place, struct error *err)
{
	struct out out = {.fd = -1};
	char name[64];

	snprintf(name, sizeof name, "per_cpu/cpu%u", (unsigned)cpu);
	bool ok = out_folder_make(&dat->of.folder, name, err);
	snprintf(name, sizeof name, "per_cpu/cpu%u/trace_pipe_raw", (unsigned)cpu);
	ok = ok && out_open_inside(&out, &dat->of.folder, name, err) &&
	     (place == NO_PLACE || ring_write(dat->ring, place, &out, err)) &&
	     out_finish(&out, err);
	out_drop(&out);
	return ok;
}

static bool write_folder(struct tracedat *dat, const uint32_t *places, uint32_t ncpus,
			 struct error *err)
{
	bool ok = write_texts(dat, err);

	for (uint32_t i = 0; i < ncpus && ok; i++)
		ok = write_pages(dat, i, places[i], err);
	return ok;
}

static void tell_left_out(const struct tracedat *dat)
{
	const struct notices *to = &dat->of.options.trace->notices;

	tracepoints_tell(dat->points);
	if (tracedat_is_folder(dat) && dat->base)
		notice(to, NOTICE_WARNING,
		       "pages have no times before 0: they count from the trace's first event, at "
		       "%lld ns",
		       (long long)dat->base);
	if (dat->unsaid)
		notice(to, NOTICE_WARNING, "%llu events could not be said in trace.dat: left out",
		       (unsigned long long)dat->unsaid);
	if (dat->too_long)
		notice(to, NOTICE_WARNING,
		       "%llu events are too long for a page of %d bytes: left out",
		       (unsigned long long)dat->too_long, (int)RING_PAGE);
}

static bool tracedat_finish(void *self, struct error *err)
{
	struct tracedat *dat = self;
	uint32_t ncpus;

	if (!ring_finish(dat->ring, err))
		return false;
	tracepoints_sort(dat->points);
	uint32_t *places = number_cpus(dat, &ncpus);
	bool ok = tracedat_is_folder(dat)
			  ? write_folder(dat, places, ncpus, err) &&
				    out_folder_finish(&dat->of.folder, err)
			  : write_file(dat, places, ncpus, err) && out_finish(&dat->of.out, err);
	mem_free(places);
	if (ok)
		tell_left_out(dat);
	return ok;
}

static void tracedat_close(void *self)
{
	struct tracedat *dat = self;

	ring_free(dat->ring);
	tracepoints_free(dat->points);
	for (size_t i = 0; i < dat->of.options.trace->nparts; i++)
		mem_free(dat->hosts[i].places);
	mem_free(dat->hosts);
	mem_free(dat->host_of);
	mem_free(dat->without_cpu);
	buf_release(&dat->record);
}

static void find_hosts(struct tracedat *dat)
{
	const struct trace *trace = dat->of.options.trace;
	struct nameset hosts = {0};

	dat->hosts = mem_new_array(trace->nparts + 1, sizeof *dat->hosts);
	dat->host_of = mem_new_array(trace->nparts + 1, sizeof *dat->host_of);
	dat->without_cpu = mem_new_array(trace->nparts + 1, sizeof *dat->without_cpu);
	for (size_t i = 0; i < trace->nparts; i++) {
		dat->without_cpu[i] = NO_PLACE;
		dat->host_of[i] = (uint32_t)i;
		if (!nameset_add(&hosts, part_host(trace->parts[i]), (uint32_t)i))
			nameset_find(&hosts, part_host(trace->parts[i]), &dat->host_of[i]);
	}
	nameset_release(&hosts);
}

static bool tracedat_open(void *self, struct error *err)
{
	struct tracedat *dat = self;
	const struct convert_options *options = &dat->of.options;

	dat->base = options->first < 0 && options->first > NSTIME_MIN ? options->first : 0;
	find_hosts(dat);
	dat->points = tracepoints_new(options->trace);
	dat->big_endian = tracepoints_big_endian(dat->points);
	dat->ring =
		ring_new(options->path, dat->big_endian, tracepoints_long_bytes(dat->points), err);
	return dat->ring &&
	       (tracedat_is_folder(dat) ? out_folder_open(&dat->of.folder, options->path, err)
					: out_open(&dat->of.out, options->path, err));
}

#define TRACEDAT_FORMAT(...)                                                                     \
	{                                                                                        \
		.kind = {.needs_times = true, .names = track_thread_names_paths, __VA_ARGS__},   \
		.size = sizeof(struct tracedat), .open = tracedat_open, .event = tracedat_event, \
		.loss = tracedat_loss, .finish = tracedat_finish, .close = tracedat_close        \
	}

const struct convert_format convert_tracedat =
	TRACEDAT_FORMAT(.name = "trace.dat", .endings = ".dat");
const struct convert_format convert_pages =
	TRACEDAT_FORMAT(.name = "pages", .endings = "", .folder = true);
