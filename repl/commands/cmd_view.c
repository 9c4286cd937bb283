/*
 * cmd_view.c - shows a part of a trace in ui.perfetto.dev: converts it, and serves the file once
 *
 * The page's content security policy allows it to fetch from one address on this machine,
 * 127.0.0.1:9001. Nothing leaves the machine: the page reads the file in the browser.
 */
#include "convert/convert.h"
#include "engine/base/digits.h"
#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"
#include "repl/asked.h"
#include "repl/commands/cmds.h"
#include "repl/filter.h"
#include "repl/render/render.h"
#include "serve/one_file.h"
#include "state/pictures/picture_fill.h"
#include "state/timelines/timelines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char page[] = "https://ui.perfetto.dev";

enum {
	PAGE_PORT = 9001,
	OF_FOUR = 3,    /* bytes in Perfetto's format for 4 bytes of the trace */
	COLUMNS = 4000, /* of the picture, if the range is too large for events */
	ROWS_MOST = 2000
};

/* The largest file for the page, which holds all of it in the memory of a WebAssembly program. */
static const uint64_t page_most = UINT64_C(1) << 30;

struct viewing {
	struct session *session;
	char *folder;
	char *path; /* of the converted file */
	int noted;
	int fd;
	uint64_t size;
	char name[64]; /* in the URL */
	nstime begin, end;
	double bytes; /* estimated size of the range in Perfetto's format; 0: unknown */
};

/*
 * Sets the range, and estimates view->bytes from its share of the trace's time; 0 with filters,
 * since nobody knows how much they leave.
 */
static bool find_range(struct viewing *view, const struct options *options, struct error *err)
{
	struct session *session = view->session;
	nstime first, last;

	if (!session_bounds(session, &first, &last, err) ||
	    !session_range(session, &view->begin, &view->end, err))
		return false;
	view->begin = view->begin > first ? view->begin : first;
	view->end = view->end <= last ? view->end : last + 1;
	if (view->begin >= view->end || filter_picks(options) || options->cpus.count ||
	    options->streams.count)
		return true;
	double part = (double)(view->end - view->begin) / ((double)(last - first) + 1);
	view->bytes = (double)trace_bytes(session->trace) * part * OF_FOUR / 4;
	return true;
}

static bool has_no_room(struct viewing *view, struct error *err)
{
	char span[TIME_TEXT_MAX];
	double fits = (double)(view->end - view->begin) * ((double)page_most / view->bytes);
	nstime least = 1;

	while (least < (nstime)(fits / 20)) /* two digits say enough */
		least *= 10;
	*span_put((nstime)fits / least * least, span) = '\0';
	return error_set(
		err, ERR_QUERY,
		"view: the range is about %.0f MB in Perfetto's form, and the page has room "
		"for about %.0f: name a shorter one with --begin and --end, of %s at most, or "
		"leave out events with --name or --cpu; after 'yore index --timelines' the "
		"attributes are shown at low resolution",
		view->bytes / 1e6, (double)page_most / 1e6, span);
}

/* Makes a name from the trace's, with characters that need no escapes in a URL. */
static void name_file(struct viewing *view)
{
	const char *path = view->session->trace->path;
	size_t end = strlen(path), n = 0;

	while (end > 1 && path[end - 1] == '/')
		end--;
	size_t begin = end;
	while (begin > 0 && path[begin - 1] != '/')
		begin--;
	for (size_t i = begin; i < end && n < 40; i++) {
		char c = path[i];
		bool plain = char_is_word(c) || c == '-' || (c == '.' && n);
		view->name[n++] = plain ? c : '_';
	}
	snprintf(view->name + n, sizeof view->name - n, ".pftrace");
}

static bool cmd_view_make_folder(struct viewing *view, struct error *err)
{
	view->folder = temporary_folder(NULL, "view", &view->noted);
	if (!view->folder)
		return error_set(err, ERR_IO, "no temporary folder can be made: %s", strerror(errno));
	view->path = folder_join(view->folder, view->name);
	return true;
}

static void release_view(struct viewing *view)
{
	if (view->fd >= 0)
		close(view->fd);
	temporary_folder_end(view->folder, view->noted);
	mem_free(view->path);
}

static bool fill_view(struct state *state, const struct wanteds *wanteds, struct picture *picture,
		      struct error *err)
{
	const struct picture_asking asking = {.state = state,
					      .queries = wanteds->queries,
					      .count = wanteds->count,
					      .stopped = signals_interrupted};

	return picture_fill(&asking, picture, err);
}

/* Converts a picture of a range that is too large: per column, the value that held longest. */
static bool convert_overview(struct viewing *view, const struct options *options, struct error *err)
{
	struct session *session = view->session;
	struct state *state = session_state(session, err);
	struct wanteds wanteds;
	struct picture picture;

	if (!state)
		return false;
	if (!timelines_there(state))
		return has_no_room(view, err);
	if (!convert_paths(options, convert_kind_named("perfetto")->paths, &wanteds, err))
		return false;
	uint64_t span = (uint64_t)view->end - (uint64_t)view->begin;
	picture_init(&picture, view->begin, view->end, span < COLUMNS ? (uint32_t)span : COLUMNS,
		     ROWS_MOST);
	session_note(
		session,
		"all of the range would be about %.0f MB, and the page has room for about %.0f: "
		"of each of %u stretches the values are shown that held longest; a shorter range "
		"has its events",
		view->bytes / 1e6, (double)page_most / 1e6, picture.columns);
	bool ok = asked_paths(session, &wanteds, err) &&
		  fill_view(state, &wanteds, &picture, err) &&
		  convert_picture(session, options, &picture, err);
	picture_release(&picture);
	wanteds_release(&wanteds);
	return ok;
}

static bool convert(struct viewing *view, const struct options *options, struct sink *sink,
		    struct error *err)
{
	struct convert_choices to = {.to = "perfetto"};
	struct options inner = *options;
	struct stat st;
	bool ok;

	inner.cmd = &cmd_convert;
	inner.own = &to;
	inner.words = (struct words){0};
	words_add(&inner.words, view->path);
	for (size_t i = 0; i < options->words.count; i++)
		words_add(&inner.words, options->words.items[i]);
	view->session->options = &inner;
	ok = view->bytes > (double)page_most ? convert_overview(view, &inner, err)
					     : cmd_convert.run(view->session, &inner, sink, err);
	view->session->options = options;
	mem_free(inner.words.items);
	if (!ok)
		return false;
	view->fd = open(view->path, O_RDONLY | O_CLOEXEC);
	if (view->fd < 0 || fstat(view->fd, &st) != 0)
		return error_set(err, ERR_IO, "%s: %s", view->path, strerror(errno));
	view->size = (uint64_t)st.st_size;
	return true;
}

static void tell_link(const struct viewing *view, const struct options *options, struct sink *sink)
{
	struct buf link = {0};

	buf_printf(&link, "%s/#!/?url=http://127.0.0.1:%u/%s", page, PAGE_PORT, view->name);
	if (options->format == FORMAT_JSON) {
		json_member_text(sink, "{\"link\":", buf_text(&link));
		sink_printf(sink, ",\"bytes\":%llu}\n", (unsigned long long)view->size);
	} else {
		sink_printf(sink, "%s\n", buf_text(&link));
	}
	buf_release(&link);
	sink_row(sink);
	sink_flush(sink);
}

/* Listens before it converts, so that a port in use is reported at once. */
static bool view_part(struct viewing *view, const struct options *options, struct sink *sink,
		      struct error *err)
{
	struct one_file file = {
		.name = view->name, .origin = page, .port = PAGE_PORT, .stopped = signals_stopped};
	struct one_file_server *server;

	if (!one_file_open(&file, &server, err))
		return error_while(err, "the page fetches from there alone");
	bool ok = cmd_view_make_folder(view, err) && convert(view, options, sink, err);
	if (ok && view->begin >= view->end) /* a note says why */
		ok = error_set(err, ERR_RANGE, "view: no part of the trace is in the range");
	if (ok) {
		file.fd = view->fd;
		file.size = view->size;
		tell_link(view, options, sink);
		session_note(view->session,
			     "open this link in a browser of this machine; the file (%llu KB) is "
			     "given once, and Ctrl-C ends",
			     (unsigned long long)(view->size / 1000));
		ok = one_file_wait(server, err);
	}
	one_file_close(server);
	return ok;
}

static bool run_view(struct session *session, const struct options *options, struct sink *sink,
		     struct error *err)
{
	struct viewing view = {.session = session, .fd = -1, .noted = -1};

	if (!session_trace(session, err) || !find_range(&view, options, err))
		return false;
	name_file(&view);
	bool ok = view_part(&view, options, sink, err);
	release_view(&view);
	return ok;
}

const struct cmd cmd_view = {
	/* clang-format off */
	.name = "view",
	.args = "[PATH...]",
	.summary = "a part of the trace in ui.perfetto.dev",
	.help = "Converts the range to Perfetto's form, prints a link, and gives the file to the\n"
		"page once, from this machine: the page fetches it from 127.0.0.1:9001, the only\n"
		"place of a machine that it reads, and ends then. Nothing is sent elsewhere: the\n"
		"page reads the file in the browser.\n"
		"\n"
		"PATHs choose the attributes that get tracks, as with 'convert --to perfetto'. The\n"
		"page has room for about 1 GB. Of a larger range it shows the attributes at low\n"
		"resolution, where timelines are stored ('yore index --timelines'); else name a\n"
		"shorter range, or filters.\n"
		"\n"
		"On another machine, a tunnel brings the port: ssh -L 9001:127.0.0.1:9001 HOST\n"
		"\n"
		"Examples:\n"
		"  $ yore view fixtures/golden/sched-demo\n"
		"  $ yore view fixtures/golden/sched-demo 'thread[*]/state' --begin +5ms --end +7ms\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_FILTER | OPT_STREAM | OPT_RULES | OPT_SYMBOLS |
		   OPT_FORMAT,
	.words = WORD_PATH,
	.max_words = -1,
	.run = run_view,
}; /* clang-format on */
