/* cmd_do.c - one-liners in bpftrace's language */
#include "engine/base/inputs.h"
#include "oneliner/oneliner.h"
#include "repl/cmds.h"
#include "repl/filter.h"
#include "repl/render.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what can be asked ---- */

static int by_name(const void *a, const void *b)
{
	const struct event_class *x = *(const struct event_class *const *)a;
	const struct event_class *y = *(const struct event_class *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->index > y->index) - (x->index < y->index);
}

static void add_type(struct sink *out, const struct field_class *class)
{
	if (field_is_text(&(struct field){.class = class}))
		sink_text(out, "string");
	else if (class->kind == FIELD_INT)
		sink_printf(out, "%sint%u", class->is_signed ? "" : "u", class->bits);
	else if (class->kind == FIELD_FLOAT)
		sink_printf(out, "float%u", class->bits);
	else
		sink_text(out, class->kind == FIELD_STRUCT    ? "struct"
			       : class->kind == FIELD_VARIANT ? "variant"
							      : "array");
}

static void list_members(struct sink *out, const struct field_class *of, bool json, unsigned *n)
{
	for (uint32_t i = 0; of && i < of->nmembers; i++) {
		const struct member *member = &of->members[i];
		if (member->hidden)
			continue;
		sink_text(out, !json ? "    " : (*n)++ ? ",{\"type\":\"" : "{\"type\":\"");
		add_type(out, member->class);
		sink_text(out, json ? "\",\"name\":" : " ");
		if (json)
			json_text(out, member->name);
		else
			sink_name(out, member->name);
		sink_char(out, json ? '}' : '\n');
	}
}

static bool list_class(struct sink *out, const struct event_class *class, bool json)
{
	static const enum scope scopes[] = {SCOPE_PAYLOAD, SCOPE_EVENT_CONTEXT,
					    SCOPE_STREAM_EVENT_CONTEXT, SCOPE_PACKET_CONTEXT};
	unsigned n = 0;

	if (json) {
		json_member_text(out, "{\"probe\":", class->name);
		sink_text(out, ",\"fields\":[");
	} else {
		sink_name(out, class->name);
		sink_char(out, '\n');
	}
	for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
		list_members(out, class->scope[scopes[i]], json, &n);
	if (json)
		sink_text(out, "]}\n");
	return sink_row(out);
}

static bool is_listed(const struct options *options, const struct spec *specs, const char *name)
{
	for (size_t i = 0; i < options->words.count; i++)
		if (spec_matches(&specs[i], name))
			return true;
	return !options->words.count;
}

/* Classes of one name are one probe; the first of them is shown. */
static bool list_probes(struct session *session, const struct options *options, struct sink *sink,
			struct error *err)
{
	struct trace *trace = session_trace(session, err);
	size_t count = options->words.count, listed = 0;
	const char *last = NULL;

	if (!trace)
		return false;
	struct arena *arena = arena_new();
	struct spec *specs = arena_array(arena, count + 1, sizeof *specs);
	const struct event_class **classes =
		arena_array(arena, trace->nclasses + 1, sizeof *classes);
	for (size_t i = 0; i < count; i++)
		specs[i] = spec_of(options->words.items[i], arena);
	if (trace->nclasses) {
		memcpy(classes, trace->classes, trace->nclasses * sizeof *classes);
		qsort(classes, trace->nclasses, sizeof *classes, by_name);
	}
	for (size_t i = 0; i < trace->nclasses; i++) {
		if (classes[i]->unlisted || (last && !strcmp(last, classes[i]->name)) ||
		    !is_listed(options, specs, classes[i]->name))
			continue;
		last = classes[i]->name;
		listed++;
		if (!list_class(sink, classes[i], options->format == FORMAT_JSON))
			break;
	}
	if (!listed)
		session_note(session, "no event matches: 'yore do -l %s' lists all", trace->path);
	arena_free(arena);
	return true;
}

/* ---- the question ---- */

struct asking {
	struct session *session;
	const struct options *options;
	struct sink *sink;
	struct oneliner_question question;
	struct filter *filter;
};

/* A file, or standard input for "-"; one that is too long is cut, and refused when it is read. */
static bool read_file(const char *path, struct buf *out, struct error *err)
{
	bool is_input = !strcmp(path, "-");
	int fd = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : 1;

	inputs_add_fd(fd);
	while (n > 0 && out->len <= PROGRAM_TEXT_MAX) {
		n = read(fd, buf_room(out, 4096), 4096);
		out->len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		error_set(err, errno == EINTR ? ERR_INTERRUPTED : ERR_IO, "%s: %s", path,
			  strerror(errno));
	if (fd >= 0 && !is_input)
		close(fd);
	return n >= 0;
}

/* The text, of the command line or a file. The caller releases it. */
static bool read_text(const struct options *options, struct buf *out, struct error *err)
{
	if (!options->file && !options->words.count)
		return error_set(err, ERR_QUERY,
				 "do: a program is missing: yore do TRACE "
				 "'sched_switch { @[prev_comm] = count(); }', or -f FILE");
	if (options->words.count > (options->file ? 0 : 1))
		return error_set(err, ERR_QUERY,
				 "do: '%s' is too much: a program is one word, in "
				 "quotes",
				 options->words.items[options->file ? 0 : 1]);
	if (!options->file) {
		buf_add_text(out, options->words.items[0]);
		return true;
	}
	return read_file(options->file, out, err);
}

static bool open_state(struct asking *asking, struct error *err)
{
	struct session *session = asking->session;

	return !oneliner_reads_state(&asking->question) ||
	       (session_rules(session, err) && session_state(session, err) &&
		oneliner_set_state(&asking->question, session->state, err));
}

static bool write_rows(void *arg, const char *bytes, size_t len)
{
	struct sink *sink = arg;

	sink_add(sink, bytes, len);
	return sink_row(sink);
}

static struct where_pass *new_pass(void *filter)
{
	return filter_pass_new(filter);
}

static bool passes(void *filter, struct events *events, bool *pass, struct error *err)
{
	return filter_pass(filter, events, pass, err);
}

static bool answer(struct asking *asking, struct error *err)
{
	struct session *session = asking->session;
	struct outlet outlet = {.json = asking->options->format == FORMAT_JSON,
				.utc = asking->options->utc || !trace_has_epoch(session->trace),
				.write = write_rows,
				.arg = asking->sink};
	struct oneliner_result result = {0};
	struct oneliner_work work = {.question = &asking->question,
				     .index = session_index(session, err),
				     .pass_new = new_pass,
				     .passes = filter_per_event(asking->filter) ? passes : NULL,
				     .filter = asking->filter,
				     .progress = session_progress_bytes,
				     .progress_arg = session,
				     .outlet = &outlet};
	struct buf note = {0};
	nstime begin, end;
	bool good = work.index && session_range(session, &begin, &end, err) &&
		    oneliner_times(work.index, begin, end, &work, err);

	if (good) {
		filter_fill(asking->filter, &work.events);
		if (asking->question.text.uses_stacks)
			work.symbols = session_symbols(session);
		good = oneliner_run(&work, &result, err);
		session->lost += result.losses;
	}
	if (good && oneliner_result_note(&result, &note))
		session_note(session, "%s", buf_text(&note));
	buf_release(&note);
	oneliner_result_release(&result);
	outlet_release(&outlet);
	return good;
}

static bool ask(struct asking *asking, const struct buf *text, struct error *err)
{
	struct session *session = asking->session;
	const struct options *options = asking->options;
	struct trace *trace = session_trace(session, err);

	return trace && oneliner_open(buf_text(text), text->len, trace, &asking->question, err) &&
	       filter_look_up(session, options, err) &&
	       filter_open(session, options, false, &asking->filter, err) &&
	       open_state(asking, err) && answer(asking, err);
}

static bool run_do(struct session *session, const struct options *options, struct sink *sink,
		   struct error *err)
{
	struct asking asking = {.session = session, .options = options, .sink = sink};
	struct buf text = {0};
	bool good;

	if (options->format_set && options->format != FORMAT_TEXT && options->format != FORMAT_JSON)
		return error_set(err, ERR_QUERY,
				 "--format: do writes text or json, as bpftrace does");
	if (options->probes)
		return list_probes(session, options, sink, err);
	good = read_text(options, &text, err) && ask(&asking, &text, err);
	filter_close(asking.filter);
	oneliner_close(&asking.question);
	buf_release(&text);
	return good;
}

const struct cmd cmd_do = {
	.name = "do",
	.args = "PROGRAM",
	.summary = "one-liners in bpftrace's language, over what was recorded",
	.help = "Runs a program of probes in the language of bpftrace, as far as a recording can\n"
		"answer it. A probe is of events, may have a predicate, and counts, sums or "
		"prints:\n"
		"\n"
		"  EVENT[, EVENT...] [/PREDICATE/] { STATEMENT; ... }\n"
		"\n"
		"Events are named as the trace does (sched_switch, sched:*) or as bpftrace does\n"
		"(tracepoint:sched:sched_switch, kprobe:vfs_read); BEGIN, END and interval:s:1 go "
		"by\n"
		"the trace's time. Their fields stand by name or as args.NAME.\n"
		"\n"
		"builtins    nsecs elapsed pid tid comm cpu probe kstack ustack retval\n"
		"maps        @name[key, key] = count() sum(n) min(n) max(n) avg(n) stats(n)\n"
		"            hist(n[, bits]) lhist(n, min, max, step); ++, =, delete(), clear(), "
		"zero()\n"
		"output      printf(FORMAT, ...) print(@map[, top[, divisor]]) time(FORMAT); maps "
		"at the end\n"
		"texts       str() strncmp() strcontains() strlen() substr(s, from[, len])\n"
		"            split(s, separator, n) captures(s, REGEX[, group]) strftime() "
		"strerror()\n"
		"            ksym(ADDRESS) usym(ADDRESS)\n"
		"others      $variables, if else, ?:, unroll(N), return, exit(), len(@map), "
		"has_key()\n"
		"state       cpu[cpu]/thread, state(\"EXPRESSION\"): what the rules say just "
		"before the event\n"
		"\n"
		"What is not known where it stands (a name before any event tells it) is left out, "
		"and\n"
		"a note says how often. docs/do.md has the language, and what differs from "
		"bpftrace.\n"
		"\n"
		"Examples:\n"
		"  $ yore do fixtures/golden/sched-demo 'sched_switch /prev_state == 1/ { "
		"@[prev_comm] = count(); }'\n"
		"  $ yore do -l fixtures/golden/sched-demo sched_switch\n"
		"  $ yore do fixtures/golden/sched-demo 'sched_waking { @t[args.pid] = nsecs; } "
		"sched_switch /@t[next_pid]/ { @us = hist((nsecs - @t[next_pid]) / 1000); "
		"delete(@t, next_pid); }'\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_FILTER | OPT_STREAM | OPT_FORMAT | OPT_RULES |
		   OPT_SYMBOLS | OPT_DO,
	.words = WORD_PROGRAM,
	.max_words = -1,
	.run = run_do,
};
