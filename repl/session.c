/*
 * session.c - opening things when they are first needed
 */
#include "repl/session.h"
#include "repl/cmd.h"

#include "convert/out.h"
#include "engine/base/inputs.h"
#include "engine/base/mem.h"
#include "engine/symbols/symbols.h"
#include "follow/socket.h"
#include "index/tables/location.h"
#include "repl/commands/sql_shell.h"
#include "repl/progress.h"
#include "state/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool session_progress_bytes(void *arg, uint64_t done, uint64_t all)
{
	struct session *session = arg;

	if (!session->steps)
		progress_show(session->progress, done, all);
	return !signals_interrupted();
}

bool session_progress_time(void *arg, nstime at, nstime first, nstime last)
{
	uint64_t all = (uint64_t)last - (uint64_t)first, done = (uint64_t)at - (uint64_t)first;

	if (last <= first || at < first)
		return session_progress_bytes(arg, 0, 1);
	return session_progress_bytes(arg, done, all);
}

static void copy_words(struct session *session, const char *const *words, size_t count);
static void free_sets(struct session *session);

/* Registers all files that will be read, so that none of them can be opened as output. */
static void add_inputs(const struct options *options, const char *path)
{
	const char *files[] = {path, options->key_file, options->file};
	const struct words *lists[] = {&options->with, &options->rules};

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (files[i])
			inputs_add_path(files[i]);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (size_t k = 0; k < lists[i]->count; k++)
			inputs_add_path(lists[i]->items[k]);
}

void session_init(struct session *session, const struct options *options, const char *path)
{
	*session = (struct session){
		.options = options, .outer = options, .path = path, .near = NSTIME_MIN};
	session->arena = arena_new();
	copy_words(session, options->rules.items, options->rules.count);
	session->progress = progress_new(options->progress);
	say_forget();
	add_inputs(options, path);
}

/* Closes what was derived from the open trace. */
static void close_made(struct session *session)
{
	sql_shell_free(session->sql);
	free_sets(session);
	symbols_free(session->symbols);
	session->sql = NULL;
	session->symbols = NULL;
	session->base = session->own = NULL;
	session->rules = NULL;
	session->state = session->names = NULL;
	session->first_known = session->start_known = false;
	session->near = NSTIME_MIN;
}

static void close_trace(struct session *session)
{
	close_made(session);
	index_close(session->index);
	trace_close(session->trace);
	session->index = NULL;
	session->trace = NULL;
}

static void close_before(struct session *session)
{
	index_close(session->before_index);
	trace_close(session->before);
	session->before_index = NULL;
	session->before = NULL;
}

bool session_follow(struct session *session, bool grows, struct error *err)
{
	close_made(session);
	close_before(session);
	session->grows = grows;
	session->before = session->trace;
	session->before_index = session->index;
	session->trace = NULL;
	session->index = NULL;
	if (session_index(session, err) && index_forget_before(session->index, err))
		return true;
	close_trace(session);
	session->trace = session->before;
	session->index = session->before_index;
	session->before = NULL;
	session->before_index = NULL;
	return false;
}

bool session_take_up(struct session *session, struct error *err)
{
	if (session->trace && !session->trace->grows)
		close_trace(session); /* opened as complete: nothing of it can be reused */
	session->follows = true;
	bool good = session_follow(session, true, err);
	session->follows = session->grows = false;
	return good;
}

bool session_reopen(struct session *session, struct error *err)
{
	close_trace(session);
	close_before(session);
	return session_index(session, err) != NULL;
}

void session_release(struct session *session)
{
	close_trace(session);
	close_before(session);
	progress_free(session->progress);
	mem_free(session->marks);
	if (session->output)
		close(session->output);
	arena_free(session->arena);
	*session = (struct session){0};
}

/* Opening ------------------------------------------------------------------------------------- */

/* --offset TRACE=+-TIME: a span in the words of times, or seconds with a sign. */
static bool parse_offset(const char *word, const char **path, size_t *len, nstime *out,
			 struct error *err)
{
	const char *equals = strrchr(word, '=');
	struct time_word span;

	if (!equals || (equals[1] != '+' && equals[1] != '-'))
		return error_set(err, ERR_QUERY, "--offset %s: want TRACE=+TIME or TRACE=-TIME",
				 word);
	if (!time_parse(equals + 1, &span, err))
		return error_while(err, "--offset %s", word);
	if (span.from != FROM_START && span.from != FROM_END)
		return error_set(err, ERR_QUERY, "--offset %s: want a span such as +1.5s", word);
	*path = word;
	*len = (size_t)(equals - word);
	*out = span.from == FROM_END ? -span.ns : span.ns;
	return true;
}

static bool set_offsets(struct session *session, const char *const *paths, size_t npaths,
			nstime *offsets, struct error *err)
{
	const struct words *words = &session->options->offsets;

	for (size_t i = 0; i < words->count; i++) {
		const char *path = NULL;
		size_t len = 0, hits = 0;
		nstime offset = 0;
		if (!parse_offset(words->items[i], &path, &len, &offset, err))
			return false;
		for (size_t p = 0; p < npaths; p++) {
			if (strlen(paths[p]) != len || strncmp(paths[p], path, len) != 0)
				continue;
			offsets[p] = offset;
			hits++;
		}
		if (!hits)
			return error_set(err, ERR_QUERY,
					 "--offset %s: names none of the traces as they are given",
					 words->items[i]);
	}
	return true;
}

static bool same_folder(const char *path, size_t len, const struct stat *folder)
{
	struct stat about;
	struct buf copy = {0};

	buf_add(&copy, path, len);
	bool same = stat(buf_text(&copy), &about) == 0 && S_ISDIR(about.st_mode) &&
		    about.st_dev == folder->st_dev && about.st_ino == folder->st_ino;
	buf_release(&copy);
	return same;
}

/* False, *err: --index-dir is a folder of the trace, whose files would be read as streams. */
static bool index_is_apart(const struct trace *trace, const char *const *paths, size_t npaths,
			   const char *folder, struct error *err)
{
	struct stat about;
	bool apart = true;

	if (!folder || stat(folder, &about) != 0)
		return true;
	for (size_t i = 0; i < npaths && apart; i++) {
		size_t len = strlen(paths[i]);
		apart = !same_folder(paths[i], len, &about);
		for (size_t s = 0; s < trace->nsources && apart; s++) {
			const char *name = source_name(trace->sources[s]);
			const char *slash = strrchr(name, '/');
			if (slash && !strncmp(name, paths[i], len) && name[len] == '/')
				apart = !same_folder(name, (size_t)(slash - name), &about);
		}
	}
	return apart ||
	       error_set(err, ERR_QUERY,
			 "--index-dir: %s is a folder of the trace, and what lies in it is read "
			 "as its streams: name another",
			 folder);
}

static void open_paths(struct session *session, const char *const *paths, size_t npaths,
		       const nstime *offsets, struct error *err)
{
	const struct options *options = session->options;
	struct index_options index = session_index_options(session);
	char *spill_dir = index_folder(&index);
	struct trace_options open = {.paths = paths,
				     .offsets = options->offsets.count ? offsets : NULL,
				     .npaths = npaths,
				     .input = options->input,
				     .strict = options->strict,
				     .key_file = options->key_file,
				     .spill_dir = spill_dir,
				     .grows = session->grows,
				     .before = session->before,
				     .notices = session_notices(session)};
	if (!trace_open(&open, &session->trace, err))
		session->trace = NULL;
	bool good = session->trace &&
		    index_is_apart(session->trace, paths, npaths, spill_dir, err) &&
		    inputs_spare("-", err); /* yore events TRACE >>TRACE */
	mem_free(spill_dir);
	if (session->trace && !good) {
		trace_close(session->trace);
		session->trace = NULL;
	}
}

bool session_reads_once(const struct session *session)
{
	const char *path = session->path;
	struct stat st;

	return !strcmp(path, "-") || socket_kind_of(path) != SOCKET_NO ||
	       (stat(path, &st) == 0 && S_ISFIFO(st.st_mode));
}

struct trace *session_trace(struct session *session, struct error *err)
{
	const struct options *options = session->options;
	size_t npaths = 1 + options->with.count;

	if (session->trace)
		return session->trace;
	if (!session->path) {
		error_set(err, ERR_QUERY, "no trace is open");
		return NULL;
	}
	if (!session->opened && session_reads_once(session)) {
		error_set(err, ERR_QUERY,
			  "%s: what comes from there can be read once: with --follow, as 'yore "
			  "events %s --follow'; without it a file is needed",
			  strcmp(session->path, "-") ? session->path : "standard input",
			  session->path);
		return NULL;
	}
	const char **paths = mem_new_array(npaths, sizeof *paths);
	nstime *offsets = mem_new_array(npaths, sizeof *offsets);
	for (size_t i = 0; i < npaths; i++)
		offsets[i] = NSTIME_MIN;
	paths[0] = session->opened ? session->opened : session->path;
	for (size_t i = 1; i < npaths; i++)
		paths[i] = options->with.items[i - 1];
	if (set_offsets(session, paths, npaths, offsets, err))
		open_paths(session, paths, npaths, offsets, err);
	mem_free(paths);
	mem_free(offsets);
	return session->trace;
}

struct index_options session_index_options(struct session *session)
{
	const struct options *options = session->options;

	return (struct index_options){.dir = options->index_dir,
				      .none = options->no_index ||
					      (session->follows && !session->keeps),
				      .keeps = session->keeps,
				      .before = session->before_index,
				      .files = session->follows,
				      .scan_all = session->scan_all,
				      .jobs = options->jobs,
				      .notices = session_notices(session),
				      .progress = session_progress_bytes,
				      .progress_arg = session};
}

struct index *session_index(struct session *session, struct error *err)
{
	struct trace *trace = session_trace(session, err);

	if (!trace || session->index)
		return session->index;
	struct index_options open = session_index_options(session);
	if (!index_open(trace, &open, &session->index, err))
		return session->index = NULL;
	if (!overlap_check(session, err)) {
		index_close(session->index);
		session->index = NULL;
	}
	return session->index;
}

/* Rules --------------------------------------------------------------------------------------- */

/* Rules, and the states opened with them. */
struct rule_set {
	struct rule_set *next;
	uint64_t identity[2];
	struct rules *rules;
	struct state *state, *names; /* NULL: not opened yet */
};

static void free_sets(struct session *session)
{
	while (session->sets) {
		struct rule_set *set = session->sets;
		session->sets = set->next;
		state_close(set->names);
		state_close(set->state);
		rules_free(set->rules);
		mem_free(set);
	}
}

/* Prints errors of rules, each with its place. */
static void say_rule_errors(const struct rules *rules)
{
	struct buf text = {0};

	rules_add_error_text(rules, &text);
	say_text(buf_text(&text));
	buf_release(&text);
}

/* Adds rule sets and files by name; without words, all of yore's sets that fit the trace. */
static bool add_rules(struct session *session, struct rules *rules, const struct words *words,
		      struct error *err)
{
	struct trace *trace = NULL;

	if (session->path) {
		trace = session_trace(session, err);
		if (!trace)
			return false;
	}
	for (size_t i = 0; i < words->count; i++)
		if (!rules_add_named(rules, words->items[i], err))
			return false;
	bool ok = words->count ? rules_add_carried(rules, trace, err)
			       : rules_add_builtins(rules, trace, err);
	return ok && rules_check(rules, err);
}

static struct rules *read_rules(struct session *session, const struct words *words,
				struct error *err)
{
	struct rules *rules = rules_new();
	size_t errors;

	if (add_rules(session, rules, words, err))
		return rules;
	rules_errors(rules, &errors);
	if (errors) {
		say_rule_errors(rules);
		error_set(err, ERR_SCRIPT, "%zu error%s in the rules", errors,
			  errors == 1 ? "" : "s");
	}
	rules_free(rules);
	return NULL;
}

struct rules *session_new_rules(struct session *session, struct error *err)
{
	return read_rules(session, &session->base_words, err);
}

/* Reads the rules anew, and returns the set with the same text if there is one, else a new set. */
static struct rule_set *find_set(struct session *session, const struct words *words,
				 struct error *err)
{
	struct rules *rules = read_rules(session, words, err);
	uint64_t identity[2];
	struct rule_set *set;

	if (!rules)
		return NULL;
	rules_identity(rules, identity);
	for (set = session->sets; set; set = set->next) {
		if (memcmp(set->identity, identity, sizeof identity) != 0)
			continue;
		rules_free(rules);
		return set;
	}
	set = mem_new(sizeof *set);
	*set = (struct rule_set){.next = session->sets, .rules = rules};
	memcpy(set->identity, identity, sizeof identity);
	return session->sets = set;
}

/* Selects the rule set of the command that runs; NULL: *err. */
static struct rule_set *use_set(struct session *session, struct error *err)
{
	const struct options *options = session->options;
	bool own = options != session->outer && options->rules.count;
	struct rule_set **set = own ? &session->own : &session->base;

	if (!*set)
		*set = find_set(session, own ? &options->rules : &session->base_words, err);
	if (!*set)
		return NULL;
	session->rules = (*set)->rules;
	session->state = (*set)->state;
	session->names = (*set)->names;
	return *set;
}

static void say_waits(const char *path)
{
	say("note", "%s is a FIFO that nothing reads: it is written when something does", path);
}

void session_begin_command(struct session *session)
{
	out_tell_waits(session->options->quiet ? NULL : say_waits);
	session->own = NULL;
}

static void copy_words(struct session *session, const char *const *words, size_t count)
{
	const char **items = arena_array(session->arena, count + 1, sizeof *items);

	for (size_t i = 0; i < count; i++)
		items[i] = arena_strdup(session->arena, words[i]);
	session->base_words = (struct words){.items = items, .count = count};
}

bool session_set_rules(struct session *session, const char *const *words, size_t count,
		       struct error *err)
{
	struct words old = session->base_words;
	struct rule_set *set;

	copy_words(session, words, count);
	set = find_set(session, &session->base_words, err);
	if (set)
		session->base = set;
	else
		session->base_words = old;
	return set != NULL;
}

const struct rules *session_rules(struct session *session, struct error *err)
{
	return use_set(session, err) ? session->rules : NULL;
}

/* In the prompt, options->cmd may be NULL. */
void session_set_lists(const struct session *session, struct state *state)
{
	const struct options *options = session->options;
	/* a chunk of a range must have what holds on in it */
	bool takes = !options->chunk && (!options->cmd || options->cmd->options & OPT_LISTS);

	state_set_lists(state, !takes ? LISTS_ALL : options->all ? LISTS_PASS : LISTS_WINDOW,
			options->budget);
}

static bool names_progress(void *arg, nstime at, nstime first, nstime last)
{
	struct session *session = arg;

	(void)at;
	(void)first;
	(void)last;
	return !signals_interrupted() && session->trace->events_decoded <= session->names_until &&
	       (session->trace->packets_decoded < session->names_packets ||
		trace_bytes_read(session->trace) < session->names_bytes);
}

/* Opens a state with the rules of the running command, for answers or for names beside them. */
static struct state *session_open_state(struct session *session, bool names, struct error *err)
{
	struct index *index = session_index(session, err);
	struct rule_set *set = index ? use_set(session, err) : NULL;

	if (!set)
		return NULL;
	struct state **state = names ? &set->names : &set->state;
	struct state_options open = {.rules = set->rules,
				     .progress = names ? names_progress : session_progress_time,
				     .progress_arg = session,
				     .no_checkpoints = session->options->no_index};
	if (!names)
		open.notices = session_notices(session);
	if (!*state && !state_open(index, &open, state, err))
		*state = NULL;
	if (*state)
		session_set_lists(session, *state);
	session->state = set->state;
	session->names = set->names;
	return *state;
}

struct state *session_state(struct session *session, struct error *err)
{
	struct state *state = session_open_state(session, false, err);

	session->asked_state |= state != NULL;
	return state;
}

bool session_give_state(void *session, struct state **out, struct error *err)
{
	*out = session_state(session, err);
	return *out != NULL;
}

struct state *session_names(struct session *session, uint64_t events, struct error *err)
{
	if (!session_index(session, err))
		return NULL;
	session->names_until = session->trace->events_decoded + events;
	session->names_packets = session->names_bytes = UINT64_MAX;
	return session_open_state(session, true, err);
}

/* --program FILE[@ADDRESS]; byte 0 of a position-independent program was loaded at ADDRESS. */
static void add_program(struct session *session)
{
	const char *program = session->options->program;
	const char *at = program ? strrchr(program, '@') : NULL;
	uint64_t base = 0;
	struct error err;
	char *end;

	if (!program)
		return;
	if (at && at[1] >= '0' && at[1] <= '9') {
		base = strtoull(at + 1, &end, 0);
		if (!*end)
			program = arena_strndup(session->arena, program, (size_t)(at - program));
		else
			base = 0;
	}
	if (!symbols_add_program(session->symbols, program, base, &err))
		say("warning", "--program: %s", err.text);
}

struct symbols *session_symbols(struct session *session)
{
	const char *beside = session->index ? index_path(session->index) : NULL;

	if (!session->symbols && session->trace && !session->options->no_symbols) {
		session->symbols = symbols_new_beside(session->trace, beside);
		symbols_name_texts(session->symbols);
		add_program(session);
	}
	return session->options->no_symbols ? NULL : session->symbols;
}

struct symbols *session_give_symbols(void *session)
{
	return session_symbols(session);
}

bool session_names_gave_up(struct error *err)
{
	if (err->kind != ERR_INTERRUPTED || signals_interrupted())
		return false;
	*err = (struct error){0};
	return true;
}

/* Times --------------------------------------------------------------------------------------- */

bool session_bounds(struct session *session, nstime *first, nstime *last, struct error *err)
{
	struct index *index = session_index(session, err);

	if (!index)
		return false;
	if (!session->first_known) {
		if (!events_range(index, &session->first, &session->last, err))
			return false;
		if (session->first > session->last)
			session->first = session->last = NSTIME_MIN;
		session->first_known = true;
	}
	*first = session->first;
	*last = session->last;
	if (session->first == NSTIME_MIN)
		return error_set(err, ERR_RANGE, "%s: the trace has no event", session->path);
	return true;
}

/* About when the trace begins, by the headers of first packets: enough to know the day. */
static bool near_first(struct session *session, nstime *first, struct error *err)
{
	struct index *index = session_index(session, err);
	struct packet_info info;
	struct table *table;

	*first = session->first_known ? session->first : session->near;
	if (session->first_known || *first != NSTIME_MIN)
		return index != NULL;
	for (size_t i = 0; index && i < session->trace->nstreams; i++) {
		const struct stream *stream = session->trace->streams[i];
		if (!stream->has_time)
			continue;
		if (!index_table(index, stream, &table, err))
			return false;
		if (!table_count(table))
			continue;
		if (!table_get(table, 0, &info, err))
			return false;
		if (!(info.rec.flags & PACKET_BEFORE_ALL) &&
		    (*first == NSTIME_MIN || info.rec.min < *first))
			*first = info.rec.min;
	}
	session->near = *first;
	return index != NULL;
}

bool session_output(struct session *session, const char *path, bool append, int *fd,
		    struct error *err)
{
	struct error ignored;

	/* opens the trace, whose files then are inputs; its errors are reported elsewhere */
	(void)(session->path && session_trace(session, &ignored));
	if (!inputs_spare(path, err))
		return false;
	*fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0666);
	return *fd >= 0 || error_set(err, ERR_IO, "%s: %s", path, strerror(errno));
}

bool session_times(struct session *session, struct times *out, struct error *err)
{
	const struct options *options = session->options;
	struct trace *trace = session_trace(session, err);
	nstime first = NSTIME_MIN, last = NSTIME_MIN;

	if (!trace)
		return false;
	if (trace_has_ordinals(trace)) {
		times_init(out, TIME_ORDINAL, true, false, NSTIME_MIN, NSTIME_MIN);
		return true;
	}
	if (options->format == FORMAT_JSON)
		; /* numbers */
	else if (options->time == TIME_RELATIVE && !session_bounds(session, &first, &last, err) &&
		 err->kind != ERR_RANGE)
		return false;
	else if (options->time == TIME_CLOCK && !near_first(session, &first, err))
		return false;
	if (options->time == TIME_ISO && options->format != FORMAT_JSON &&
	    !trace_has_epoch(trace) && !session->noted_iso) {
		session->noted_iso = true;
		session_note(session, "--time iso: the trace's clock has no date: times are hours "
				      "since its origin");
	}
	times_init(out, options->time, options->utc, trace_has_epoch(trace), first, last);
	return true;
}

void session_add_time(struct session *session, nstime t, struct buf *out)
{
	struct error ignored;
	struct times times;

	if (session_times(session, &times, &ignored))
		time_add_buf(&times, t, out);
}

/* Finds only the first event's time, for which it reads far fewer packets than session_bounds(). */
static bool only_first(struct session *session, nstime *first, struct error *err)
{
	struct index *index = session_index(session, err);
	nstime start, last;

	if (session->first_known || session->start_known) {
		*first = session->first;
		return session->first != NSTIME_MIN || session_bounds(session, first, &last, err);
	}
	if (!index || !events_start(index, &start, err))
		return false;
	if (start == NSTIME_MAX)
		return session_bounds(session, first, &last, err);
	*first = session->first = start;
	return session->start_known = true;
}

static struct bookmark *find_mark(const struct session *session, const char *name, size_t len)
{
	for (size_t i = 0; i < session->nmarks; i++)
		if (!strncmp(session->marks[i].name, name, len) && !session->marks[i].name[len])
			return &session->marks[i];
	return NULL;
}

void session_set_mark(struct session *session, const char *name, nstime t)
{
	struct bookmark *mark = find_mark(session, name, strlen(name));

	if (!mark) {
		mark = mem_push(session->marks, session->nmarks, session->marks_capacity);
		mark->name = arena_strdup(session->arena, name);
	}
	mark->t = t;
}

/*
 * For `here+1ms` or `.-20us`: sets *from to the time of the mark or current moment, and returns the
 * text behind its name, which may be empty. NULL: the word begins with neither.
 */
static const char *behind_mark(const struct session *session, const char *word, nstime *from)
{
	size_t len = strcspn(word, "+-");
	const struct bookmark *mark = find_mark(session, word, len);

	*from = mark ? mark->t : session->moment;
	return mark || (len == 1 && *word == '.' && session->has_moment) ? word + len : NULL;
}

bool session_is_moment(const struct session *session, const char *word)
{
	nstime ignored;

	return behind_mark(session, word, &ignored) != NULL;
}

bool session_time(struct session *session, const char *word, nstime *out, struct error *err)
{
	struct trace *trace = session_trace(session, err);
	nstime first = NSTIME_MIN, last = NSTIME_MIN;
	const char *span = behind_mark(session, word, out);
	struct time_word parsed;
	struct times times;

	if (!trace)
		return false;
	if (span && !*span)
		return true;
	if (!(trace_has_ordinals(trace) ? ordinal_parse : time_parse)(span ? span : word, &parsed,
								      err))
		return false;
	if (session->grows && !span && parsed.from == FROM_END)
		return error_set(err, ERR_QUERY,
				 "time '%s': it counts from the end of the recording, which is "
				 "not known yet",
				 word);
	if (span)
		first = last = *out; /* the span counts from there */
	else if (time_needs_bounds(&parsed) &&
		 !(parsed.from == FROM_END ? session_bounds(session, &first, &last, err)
					   : only_first(session, &first, err)))
		return error_while(err, "time '%s'", word);
	times_init(&times, TIME_NS, session->options->utc, trace_has_epoch(trace), first, last);
	if (!time_resolve(&parsed, &times, out, err))
		return error_while(err, "time '%s'", word);
	return true;
}

bool session_range(struct session *session, nstime *begin, nstime *end, struct error *err)
{
	const struct options *options = session->options;

	*begin = session->has_range ? session->begin : NSTIME_MIN;
	*end = session->has_range ? session->end : NSTIME_MAX;
	if (options->begin && !session_time(session, options->begin, begin, err))
		return error_while(err, "--begin");
	if (options->end && !session_time(session, options->end, end, err))
		return error_while(err, "--end");
	if (*begin < *end)
		return true;
	return error_set(err, ERR_QUERY,
			 "--begin %s, --end %s: the range is empty, it must end after it begins",
			 options->begin ? options->begin : "of the prompt's range",
			 options->end ? options->end : "of the prompt's range");
}

bool session_lists_window(struct session *session, bool *window, struct error *err)
{
	struct state *state = session_state(session, err);
	nstime begin, end;

	return state && session_range(session, &begin, &end, err) &&
	       state_lists_window(state, begin, end, NULL, 0, window, err);
}
