/*
 * cmd_serve.c - serves traces to viewers and to the page, until Ctrl-C
 *
 * Each TRACE has a session of its own, with the options of the command. All workers of the server
 * read what this session has opened.
 */
#include "engine/base/digits.h"
#include "engine/base/mem.h"
#include "repl/commands/cmds.h"
#include "repl/render/render.h"
#include "serve/serve.h"
#include "state/state.h"
#include "state/timelines/timelines.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct one { /* a trace that is served */
	struct session *session;
	struct session own; /* session of a further TRACE */
	uint64_t seen;      /* --follow: files_hash() when it was opened last */
};

struct serving_traces {
	struct one *items;
	struct serve_trace *traces;
	size_t count, begun;
};

static struct rules *new_rules(void *arg, struct error *err)
{
	struct one *one = arg;

	return session_new_rules(one->session, err);
}

/* ---- --follow ---- */

static uint64_t add_stat(uint64_t sum, const char *path)
{
	struct stat about;

	if (stat(path, &about) != 0)
		return sum;
	return sum * 31 + (uint64_t)about.st_size + (uint64_t)about.st_mtim.tv_sec * 1000003 +
	       (uint64_t)about.st_mtim.tv_nsec;
}

/* A hash of sizes and times of its files, and of its folder, in which new files may appear. */
static uint64_t files_hash(const struct one *one)
{
	const struct trace *trace = one->session->trace;
	uint64_t sum = add_stat(0, one->session->path);

	for (size_t i = 0; trace && i < trace->nsources; i++)
		sum = add_stat(sum, source_name(trace->sources[i]));
	return sum;
}

static bool grew(void *arg)
{
	const struct one *one = arg;

	return files_hash(one) != one->seen;
}

static bool renew(void *arg, struct index **out)
{
	struct one *one = arg;
	struct error err = {0};

	one->seen = files_hash(one);
	if (!session_take_up(one->session, &err)) {
		say_error(&err);
		return false;
	}
	*out = one->session->index;
	return *out != NULL;
}

/* ---- opening ---- */

/* Notes that a large trace has no timelines, so that answers about long ranges are slow. */
static bool note_timelines(struct session *session, struct error *err)
{
	struct state *state = session_state(session, err);

	if (!state)
		return false;
	if (trace_bytes(session->trace) >= LARGE_TRACE && !timelines_there(state))
		session_note(
			session,
			"%s: timelines are not stored, so that long ranges are given up: 'yore "
			"index %s --timelines' makes them",
			session->path, session->path);
	return true;
}

static bool open_one(struct session *session, const struct options *options, struct one *one,
		     const char *path, struct serve_trace *out, struct error *err)
{
	one->session = session;
	if (!one->session) {
		session_init(&one->own, options, path);
		one->session = &one->own;
	}
	session_begin_command(one->session);
	if (!(options->follow ? session_take_up(one->session, err)
			      : session_index(one->session, err) != NULL) ||
	    !note_timelines(one->session, err))
		return error_while(err, "%s", path);
	one->session->steps = true; /* the server's threads show no progress */
	one->seen = files_hash(one);
	*out = (struct serve_trace){.path = path,
				    .index = one->session->index,
				    .rules = new_rules,
				    .grew = options->follow ? grew : NULL,
				    .renew = renew,
				    .arg = one};
	return true;
}

static bool open_all(struct session *session, const struct options *options,
		     struct serving_traces *all, struct error *err)
{
	all->count = options->words.count + 1;
	all->items = mem_new_array(all->count, sizeof *all->items);
	all->traces = mem_new_array(all->count, sizeof *all->traces);
	for (; all->begun < all->count; all->begun++) {
		size_t i = all->begun;
		const char *path = i ? options->words.items[i - 1] : session->path;

		if (!open_one(i ? NULL : session, options, &all->items[i], path, &all->traces[i],
			      err)) {
			all->begun++;
			return false;
		}
	}
	return true;
}

static void close_all(struct serving_traces *all)
{
	if (all->begun)
		all->items[0].session->steps = false;
	for (size_t i = 1; i < all->begun; i++)
		session_release(&all->items[i].own);
	mem_free(all->items);
	mem_free(all->traces);
}

/* ---- serving ---- */

/* Parses ADDRESS, ADDRESS:PORT, :PORT or, for an IPv6 address with a port, [ADDRESS]:PORT. */
static bool read_listen(const char *word, char address[64], struct serve_options *out,
			struct error *err)
{
	const char *colon = strrchr(word, ':'), *at = colon ? colon + 1 : NULL;
	bool brackets = word[0] == '[';
	const char *end = brackets ? strchr(word, ']') : NULL;

	if (colon && !brackets && strchr(word, ':') != colon)
		colon = NULL; /* an IPv6 address without a port */
	if (brackets && (!end || (colon && colon != end + 1)))
		colon = NULL;
	size_t len = brackets && end ? (size_t)(end - word) - 1
		     : colon         ? (size_t)(colon - word)
				     : strlen(word);
	if (colon) {
		uint64_t port = decimal_take(&at, NULL);
		if (*at || at == colon + 1 || port > UINT16_MAX)
			return error_set(err, ERR_QUERY,
					 "--listen %s: the port is no number up to %d", word,
					 UINT16_MAX);
		out->port = (uint16_t)port;
	}
	if (len >= 64)
		return error_set(err, ERR_QUERY, "--listen %s: that is no address", word);
	snprintf(address, 64, "%.*s", (int)len, word + (brackets ? 1 : 0));
	out->address = *address ? address : NULL;
	return true;
}

static void show_url(const struct server *server, const struct options *options, struct sink *sink)
{
	if (options->format == FORMAT_JSON) {
		json_member_text(sink, "{\"url\":", serve_url(server));
		sink_printf(sink, ",\"tsp\":\"%stsp/api\"}\n", serve_url(server));
	} else {
		sink_printf(sink, "%s\n", serve_url(server));
	}
	sink_row(sink);
	sink_flush(sink);
}

/* The options that this command alone has. */
struct serve_choices {
	const char *listen;   /* ADDRESS[:PORT]; NULL: 127.0.0.1, any port */
	struct words origins; /* further pages whose requests are answered */
};

static bool serve_all(struct session *session, const struct options *options,
		      const struct serving_traces *all, struct sink *sink, struct error *err)
{
	const struct serve_choices *choices = options->own;
	char address[64];
	struct serve_options serving = {.traces = all->traces,
					.ntraces = all->count,
					.origins = choices->origins.items,
					.norigins = choices->origins.count,
					.stopped = signals_interrupted};
	struct server *server;

	if (choices->listen && !read_listen(choices->listen, address, &serving, err))
		return false;
	signals_at_once(SERVE_WORKERS);
	if (!serve_open(&serving, &server, err))
		return false;
	show_url(server, options, sink);
	session_note(session, "open this address in a browser; viewers that speak the Trace Server "
			      "Protocol have it with tsp/api behind it; Ctrl-C ends");
	serve_wait(server);
	serve_close(server);
	return error_set(err, ERR_INTERRUPTED, "interrupted");
}

static bool run_serve(struct session *session, const struct options *options, struct sink *sink,
		      struct error *err)
{
	struct serving_traces all = {0};
	bool good = open_all(session, options, &all, err) &&
		    serve_all(session, options, &all, sink, err);

	close_all(&all);
	mem_free(((struct serve_choices *)options->own)->origins.items);
	return good;
}

#define OWN(member) offsetof(struct serve_choices, member)
static const struct option own_options[] = {
	/* clang-format off */
	{{"--listen", "ADDRESS[:PORT]", "where to serve (127.0.0.1, any port that is free)", 0}, TAKE_TEXT, .at = OWN(listen)},
	{{"--origin", "URL", "a page that may ask, besides viewers (repeatable)", 0}, TAKE_WORDS, .at = OWN(origins)},
	{.info.name = NULL},
};

const struct cmd cmd_serve = {
	.name = "serve",
	.args = "[TRACE...]",
	.summary = "traces for a browser, and for viewers of the Trace Server Protocol",
	.help = "Prints an address and serves it until Ctrl-C. In a browser it is a page that shows\n"
		"rows over time, zooms and searches. With tsp/api behind it, it is a trace server\n"
		"(protocol version 0.6.0) for viewers such as VS Code's Trace Viewer.\n"
		"\n"
		"Only this machine reaches it, and only who knows the address: a token is part of\n"
		"it. No file is served, and nothing is told of others than the TRACEs. Timelines\n"
		"('yore index --timelines') make long ranges of long traces quick. With --follow\n"
		"the trace is opened again as it grows.\n"
		"\n"
		"--listen ADDRESS serves a network: then whoever sees the address may read the traces.\n"
		"From another machine a tunnel is better: ssh -L 9100:127.0.0.1:9100 HOST, with\n"
		"--listen :9100.\n"
		"\n"
		"Examples:\n"
		"  $ yore serve fixtures/golden/sched-demo\n"
		"  $ yore serve fixtures/golden/sched-demo fixtures/golden/memory-demo --listen :9100\n"
		"  $ yore serve fixtures/golden/sched-demo --follow --format json\n",
	.options = OPT_TRACE | OPT_RULES | OPT_FORMAT | OPT_FOLLOW,
	.own = own_options,
	.own_bytes = sizeof(struct serve_choices),
	.words = WORD_FILE,
	.max_words = -1,
	.run = run_serve,
}; /* clang-format on */
