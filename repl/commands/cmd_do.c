/* cmd_do.c - one-liners in bpftrace's language */
#include "engine/base/inputs.h"
#include "engine/base/mem.h"
#include "oneliner/oneliner.h"
#include "repl/commands/cmds.h"
#include "repl/commands/following.h"
#include "repl/commands/partials.h"
#include "repl/render/render.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- lists of probes ---- */

static int cmd_do_by_name(const void *a, const void *b)
{
	const struct event_class *x = *(const struct event_class *const *)a;
	const struct event_class *y = *(const struct event_class *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->index > y->index) - (x->index < y->index);
}

static void cmd_do_add_type(struct sink *out, const struct field_class *class)
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
		cmd_do_add_type(out, member->class);
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

static bool cmd_do_is_listed(const struct options *options, const struct spec *specs,
			     const char *name)
{
	for (size_t i = 0; i < options->words.count; i++)
		if (spec_matches(&specs[i], name))
			return true;
	return !options->words.count;
}

/* Lists probes; of several classes with one name, the first. */
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
		qsort(classes, trace->nclasses, sizeof *classes, cmd_do_by_name);
	}
	for (size_t i = 0; i < trace->nclasses; i++) {
		if (classes[i]->unlisted || (last && !strcmp(last, classes[i]->name)) ||
		    !cmd_do_is_listed(options, specs, classes[i]->name))
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

struct do_question {
	struct session *session;
	const struct options *options;
	struct sink *sink;
	struct oneliner_question question;
	struct filter *filter;
	struct outlet outlet;

	/* --follow */
	struct oneliner_run *run; /* NULL: not begun */
	struct follow_names names;
	nstime from; /* events before this time were read; NSTIME_MIN: none */
	bool waits;  /* has noted that an event is not there yet */
	bool closed; /* the program called exit(), or nobody reads its output */
};

/* Reads a file, or standard input for "-". One that is too long is cut; the parser refuses it. */
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

/* The program's text, from the command line or a file. The caller releases it. */
static bool cmd_do_read_text(const struct options *options, struct buf *out, struct error *err)
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

static bool cmd_do_open_state(struct do_question *asking, struct error *err)
{
	struct session *session = asking->session;

	return !oneliner_reads_state(&asking->question) ||
	       (session_rules(session, err) && session_state(session, err) &&
		oneliner_set_state(&asking->question, session->state, err));
}

static bool cmd_do_write_rows(void *arg, const char *bytes, size_t len)
{
	struct sink *sink = arg;

	sink_add(sink, bytes, len);
	return sink_row(sink);
}

/* Sets *out for the filters and output; `elapsed` and END by the range [begin, end). */
static bool fill_work(struct do_question *asking, nstime begin, nstime end,
		      struct oneliner_work *out, struct error *err)
{
	struct session *session = asking->session;

	asking->outlet.json = asking->options->format == FORMAT_JSON;
	asking->outlet.utc = asking->options->utc || !trace_has_epoch(session->trace);
	asking->outlet.write = cmd_do_write_rows;
	asking->outlet.arg = asking->sink;
	*out = (struct oneliner_work){.question = &asking->question,
				      .index = session_index(session, err),
				      .condition = filter_condition(asking->filter),
				      .progress = session_progress_bytes,
				      .progress_arg = session,
				      .outlet = &asking->outlet};
	if (!out->index || !oneliner_times(out->index, begin, end, out, err))
		return false;
	filter_fill(asking->filter, &out->events);
	if (asking->question.text.uses_stacks)
		out->symbols = session_symbols(session);
	return true;
}

static void tell_result(struct do_question *asking, const struct oneliner_result *result)
{
	struct buf note = {0};

	asking->session->lost += result->losses;
	if (oneliner_result_note(result, &note))
		session_note(asking->session, "%s", buf_text(&note));
	buf_release(&note);
}

/* --chunk: writes what the chunk counted; --merge: answers from the files. */
static bool answer_in_parts(struct do_question *asking, struct partials *partials,
			    struct oneliner_work *work, struct oneliner_result *result,
			    struct error *err)
{
	struct buf body = {0};
	struct partial_work partial = partials_work(partials, &body);
	bool chunk = partials->mode == PARTIALS_CHUNK;

	work->partial = &partial;
	bool good = oneliner_is_sum(work, err) && (chunk ? oneliner_run_chunk(work, result, err)
							 : oneliner_run(work, result, err));
	if (!good)
		partials_explain(partials, &partial, err);
	good = good && (!chunk || partials_write(partials, &body, true, asking->sink, err));
	mem_free(partial.bodies);
	buf_release(&body);
	return good;
}

static bool answer_with(struct do_question *asking, struct partials *partials,
			struct oneliner_work *work, struct oneliner_result *result,
			struct error *err)
{
	const struct oneliner *program = &asking->question.text;
	struct buf question = {0};

	buf_add_text(&question, asking->options->utc ? "--utc\n" : "");
	buf_add(&question, program->text, program->len);
	bool good = partials_begin(asking->session, PARTIAL_DO, question.data, question.len,
				   partials, err);
	buf_release(&question);
	if (!good)
		return false;
	return partials->mode == PARTIALS_NONE
		       ? oneliner_run(work, result, err)
		       : answer_in_parts(asking, partials, work, result, err);
}

static bool cmd_do_answer(struct do_question *asking, struct error *err)
{
	struct oneliner_result result = {0};
	struct partials partials = {0};
	struct oneliner_work work;
	nstime begin, end;
	bool good = session_range(asking->session, &begin, &end, err) &&
		    fill_work(asking, begin, end, &work, err) &&
		    answer_with(asking, &partials, &work, &result, err);

	if (good)
		tell_result(asking, &result);
	partials_end(&partials);
	oneliner_result_release(&result);
	return good;
}

static bool ask_program(struct do_question *asking, const struct buf *text, struct error *err)
{
	struct session *session = asking->session;
	const struct options *options = asking->options;
	struct trace *trace = session_trace(session, err);

	return trace && oneliner_open(buf_text(text), text->len, trace, &asking->question, err) &&
	       filter_look_up(session, options, err) &&
	       filter_open(session, options, false, &asking->filter, err) &&
	       cmd_do_open_state(asking, err) && cmd_do_answer(asking, err);
}

/* --follow ------------------------------------------------------------------------------------- */

/* Closes what depends on the open trace. */
static void close_made(struct do_question *asking)
{
	oneliner_unbind_trace(&asking->question);
	filter_close(asking->filter);
	asking->filter = NULL;
}

/* Opens it. False, err->kind ERR_NONE: an event, field or name in a filter is not there yet. */
static bool open_made(struct do_question *asking, bool last, struct error *err)
{
	struct session *session = asking->session;
	struct error cause = {0};

	if (oneliner_bind_again(&asking->question, session->trace, &cause) &&
	    cmd_do_open_state(asking, &cause))
		return follow_filter(session, &asking->names, last, &asking->filter, err);
	if (last || cause.kind != ERR_RANGE)
		*err = cause;
	else
		follow_waits(session, &cause, &asking->waits);
	return false;
}

/* Runs the program on events from asking->from to `end`. */
static bool run_more(struct do_question *asking, nstime end, bool *done, struct error *err)
{
	struct oneliner_work work;
	nstime begin, last;
	bool open = true;

	if (!session_range(asking->session, &begin, &last, err) ||
	    !fill_work(asking, begin, last, &work, err))
		return false;
	if (!asking->run)
		asking->run = oneliner_run_new(&asking->question);
	*done = end >= work.events.end;
	if (work.events.begin < asking->from)
		work.events.begin = asking->from;
	if (work.events.end > end)
		work.events.end = end;
	bool good = oneliner_run_more(asking->run, &work, &open, err);
	asking->closed = !open;
	*done |= !open;
	asking->from = end;
	return good;
}

/* A follow_more. */
static bool cmd_do_more(void *arg, struct follow *follow, const struct follow_news *news,
			bool *done, struct error *err)
{
	struct events_options range = {0};
	struct do_question *asking = arg;
	bool begun, ok = true;

	if (!follow_has_begun(asking->session, asking->from, news->end, &begun, err))
		return false;
	if (!begun)
		return true;
	if (open_made(asking, news->ended, err)) {
		filter_fill(asking->filter, &range);
		ok = follow_late(asking->session, follow, news, NSTIME_MAX, &range, asking->filter,
				 NULL, NULL, err) &&
		     (news->end <= asking->from || run_more(asking, news->end, done, err));
	} else {
		ok = err->kind == ERR_NONE;
	}
	close_made(asking);
	sink_flush(asking->sink);
	return ok;
}

/* Runs END and prints the maps, for the events so far. */
static bool run_end(struct do_question *asking, struct error *err)
{
	struct oneliner_result result = {0};
	struct oneliner_work work;
	struct error ignored;
	nstime begin, end, first, last;

	bool good =
		open_made(asking, true, err) && session_range(asking->session, &begin, &end, err);
	if (good && asking->from < end &&
	    session_bounds(asking->session, &first, &last, &ignored) && asking->from <= last)
		end = asking->from; /* Ctrl-C came before the end */
	good = good && fill_work(asking, begin, end, &work, err) &&
	       oneliner_run_end(asking->run, &work, &result, err);
	if (good) {
		oneliner_run_tell(asking->run, &work, &result);
		tell_result(asking, &result);
	}
	oneliner_result_release(&result);
	close_made(asking);
	return good;
}

/* Runs the program with --follow; after Ctrl-C, the answer is for the events so far. */
static bool follow_program(struct do_question *asking, const struct buf *text, struct error *err)
{
	struct error ignored;

	asking->from = NSTIME_MIN;
	if (!oneliner_open_text(buf_text(text), text->len, &asking->question, err))
		return false;
	bool good = follow_run(asking->session, asking->options, asking->sink->fd, cmd_do_more,
			       asking, err);
	if (asking->run && good)
		good = run_end(asking, err);
	else if (asking->run && follow_interrupted(err))
		(void)!run_end(asking, &ignored);
	oneliner_run_free(asking->run);
	return good;
}

static bool run_do(struct session *session, const struct options *options, struct sink *sink,
		   struct error *err)
{
	struct do_question asking = {.session = session, .options = options, .sink = sink};
	enum partials_mode mode;
	struct buf text = {0};
	bool good;

	if (options->format_set && options->format != FORMAT_TEXT && options->format != FORMAT_JSON)
		return error_set(err, ERR_QUERY,
				 "--format: do writes text or json, as bpftrace does");
	if (!follow_words(options, err) || !partials_asked(options, &mode, err))
		return false;
	if (options->probes && mode != PARTIALS_NONE)
		return error_set(err, ERR_QUERY, "--probes does not go with --chunk and --merge");
	if (options->probes && options->follow)
		return error_set(err, ERR_QUERY, "--follow and --probes do not go together");
	if (options->probes)
		return list_probes(session, options, sink, err);
	good = cmd_do_read_text(options, &text, err) &&
	       (options->follow ? follow_program : ask_program)(&asking, &text, err);
	filter_close(asking.filter);
	oneliner_close(&asking.question);
	outlet_release(&asking.outlet);
	buf_release(&text);
	return good;
}

const struct cmd cmd_do = {
	/* clang-format off */
	.name = "do",
	.args = "PROGRAM",
	.summary = "one-liners in bpftrace's language, over what was recorded",
	.help = "Runs a program of probes in the language of bpftrace, as far as a recording can\n"
		"answer it. A probe is of events, may have a predicate, and counts, sums or prints:\n"
		"\n"
		"  EVENT[, EVENT...] [/PREDICATE/] { STATEMENT; ... }\n"
		"\n"
		"Events are named as the trace does (sched_switch, sched:*) or as bpftrace does\n"
		"(tracepoint:sched:sched_switch, kprobe:vfs_read); BEGIN, END and interval:s:1 go by\n"
		"the trace's time. Their fields stand by name or as args.NAME.\n"
		"\n"
		"builtins    ts nsecs elapsed name stream cpu tid pid comm probe kstack ustack retval\n"
		"maps        @name[key, key] = count() sum(n) min(n) max(n) avg(n) stats(n)\n"
		"            hist(n[, bits]) lhist(n, min, max, step); ++, =, delete(), clear(), zero()\n"
		"output      printf(FORMAT, ...) print(@map[, top[, divisor]]) time(FORMAT); maps at the end\n"
		"texts       str() strncmp() strcontains() strlen() substr(s, from[, len])\n"
		"            split(s, separator, n) captures(s, REGEX[, group]) strftime() strerror()\n"
		"            ksym(ADDRESS) usym(ADDRESS)\n"
		"others      $variables, if else, ?:, unroll(N), return, exit(), len(@map), has_key()\n"
		"state       cpu[cpu]/thread, state(\"EXPRESSION\"): what the rules say just before the event\n"
		"\n"
		"What is not known where it stands (a name before any event tells it) is left out, and\n"
		"a note says how often. docs/do.md has the language, and what differs from bpftrace.\n"
		"\n"
		"--follow goes on while the trace is written, with each event when no earlier one can\n"
		"come any more. END and the maps follow when the recording has ended, at --end, or\n"
		"after Ctrl-C. docs/live.md says what is final.\n"
		"\n"
		"--chunk I/N --partial FILE fills the maps from part I of N of the trace; --merge and the\n"
		"files of all parts prints them. It is for programs whose events count and sum alone.\n"
		"\n"
		"Examples:\n"
		"  $ yore do fixtures/golden/sched-demo 'sched_switch /prev_state == 1/ { @[prev_comm] = count(); }'\n"
		"  $ yore do fixtures/golden/sched-demo --follow 'sched_switch { @[next_comm] = count(); if (++@n == 9) { exit(); } }'\n"
		"  $ yore do -l fixtures/golden/sched-demo sched_switch\n"
		"  $ yore do fixtures/golden/sched-demo 'sched_switch { @[prev_comm] = count(); }' --chunk 1/1 --partial /tmp/yore-do.part\n"
		"  $ yore do fixtures/golden/sched-demo 'sched_waking { @t[args.pid] = nsecs; } sched_switch /@t[next_pid]/ { @us = hist((nsecs - @t[next_pid]) / 1000); delete(@t, next_pid); }'\n",
	.options = OPT_TRACE | OPT_RANGE | OPT_FILTER | OPT_STREAM | OPT_FORMAT | OPT_RULES |
		   OPT_SYMBOLS | OPT_DO | OPT_FOLLOW | OPT_PARTIALS | OPT_SLURM,
	.words = WORD_PROGRAM,
	.max_words = -1,
	.run = run_do,
}; /* clang-format on */
