/* served.c - the traces: states for each worker, numbers of rows, and opening them again */
#include "serve/serving.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/base/wait.h"
#include "state/comms.h"
#include "state/model/attr.h"
#include "state/program/lookup.h"
#include "state/program/program.h"
#include "state/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEEPER_MS = 1000, LOOK_MS = 10000 };

bool worker_goes_on(void *arg, nstime at, nstime first, nstime last)
{
	struct worker *worker = arg;

	(void)at;
	(void)first;
	(void)last;
	if (worker->serving->stops || clock_ms() > worker->until)
		worker->stop = 1;
	return !worker->stop;
}

void worker_begin(struct worker *worker, int64_t ms)
{
	worker->until = clock_ms() + ms;
	worker->stop = 0;
}

/* ---- classes of attributes ---- */

void row_classes_release(struct row_classes *classes)
{
	for (size_t i = 0; i < classes->count; i++) {
		mem_free(classes->items[i].path);
		mem_free(classes->items[i].id);
	}
	mem_free(classes->items);
	nameset_release(&classes->ids);
	*classes = (struct row_classes){0};
}

/* Appends a class's id: "thread[*]/stack[*]" becomes "thread.stack". */
static void add_id(const char *path, struct buf *out)
{
	for (; *path; path++)
		if (char_is_word(*path))
			buf_add_char(out, *path);
		else if (*path == '/')
			buf_add_char(out, '.');
}

static void served_add_class(struct row_classes *classes, const char *path)
{
	const char *last = strrchr(path, '/');
	struct buf id = {0};

	add_id(path, &id);
	nameset_make_free(&classes->ids, &id, 0, "-");
	nameset_add(&classes->ids, buf_text(&id), 2);
	*mem_push(classes->items, classes->count, classes->capacity) =
		(struct row_class){.path = mem_strdup(path),
				   .id = mem_strdup(buf_text(&id)),
				   .threads = last && !strcmp(last, "/thread")};
	buf_release(&id);
}

static int served_by_path(const void *a, const void *b)
{
	const struct row_class *p = a, *q = b;

	return strcmp(p->path, q->path);
}

/* Does the trace have events by which rules write attributes of the path? */
static bool is_written(const struct program *program, struct index *index, const char *path)
{
	struct query *query;
	struct error ignored;
	struct buf note = {0};

	if (!query_parse(path, &query, &ignored))
		return false;
	bool written = lookup_path(program, index, query, &note, &ignored) && !note.len;
	query_free(query);
	buf_release(&note);
	return written;
}

bool served_read_classes(struct served *served, struct rules *rules, struct row_classes *out,
			 struct error *err)
{
	const struct notices quiet = {0};
	struct program *program;
	struct buf path = {0};

	*out = (struct row_classes){0};
	if (!program_compile(rules, index_trace(served->index), &quiet, &program, err))
		return false;
	struct attrs *attrs = program_attrs(program);
	for (uint32_t i = 1; i < shape_count(attrs); i++) {
		if (!program_writes_shape(program, i) && !program_views_shape(program, i))
			continue;
		buf_clear(&path);
		shape_add_text(attrs, i, &path);
		if (is_written(program, served->index, buf_text(&path)))
			served_add_class(out, buf_text(&path));
	}
	program_free(program);
	buf_release(&path);
	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, served_by_path);
	return true;
}

struct row_class *served_class(struct served *served, const char *id, unsigned *config)
{
	const char *dot = strchr(id, '.');
	unsigned number = 0;

	if (id[0] == 'c' && char_is_digit(id[1]) && dot == id + 2) { /* c1.cpu.thread */
		number = (unsigned)(id[1] - '0');
		id += 3;
	}
	*config = number;
	if (number >= CONFIGS)
		return NULL;
	struct row_classes *classes = &served->classes[number];
	for (size_t i = 0; i < classes->count; i++)
		if (!strcmp(classes->items[i].id, id))
			return &classes->items[i];
	return NULL;
}

/* ---- states ---- */

void rule_config_release(struct rule_config *config)
{
	mem_free(config->id);
	mem_free(config->name);
	mem_free(config->description);
	mem_free(config->text);
	*config = (struct rule_config){0};
}

struct rules *rule_config_read(const struct rule_config *config, struct error *err)
{
	struct rules *rules = rules_new();

	if (rules_add(rules, config->name, config->text, strlen(config->text), err) &&
	    rules_check(rules, err))
		return rules;
	rules_free(rules);
	return NULL;
}

static struct rules *config_rules(struct served *served, struct worker *worker, unsigned config,
				  struct error *err)
{
	struct serving *serving = worker->serving;

	if (!config)
		return served->source->rules(served->source->arg, err);
	pthread_mutex_lock(&serving->lock);
	const struct rule_config *own = &serving->configs[config];
	struct rules *rules = own->id ? rule_config_read(own, err) : NULL;
	if (!own->id)
		error_set(err, ERR_RANGE, "these rules were deleted");
	pthread_mutex_unlock(&serving->lock);
	return rules;
}

static void close_place(struct served_state *place)
{
	state_close(place->state);
	rules_free(place->rules);
	*place = (struct served_state){0};
}

struct state *served_state(struct served *served, struct worker *worker, unsigned config,
			   struct error *err)
{
	struct served_state *place = &served->places[worker->number][config];

	if (place->state)
		return place->state;
	if (!place->rules)
		place->rules = config_rules(served, worker, config, err);
	if (!place->rules)
		return NULL;
	const struct state_options open = {.rules = place->rules,
					   .progress = worker_goes_on,
					   .progress_arg = worker,
					   .no_checkpoints = true};
	if (!state_open(served->index, &open, &place->state, err))
		place->state = NULL;
	if (place->state)
		state_set_lists(place->state, LISTS_WINDOW, 0);
	return place->state;
}

void served_close_config(struct served *served, unsigned config)
{
	for (unsigned i = 0; i <= WORKERS; i++)
		close_place(&served->places[i][config]);
	row_classes_release(&served->classes[config]);
}

/* ---- rows ---- */

uint32_t served_number(struct served *served, const char *path)
{
	uint32_t number;

	pthread_mutex_lock(&served->lock);
	if (!nameset_find(&served->numbers, path, &number)) {
		*mem_push(served->paths, served->npaths, served->paths_capacity) = mem_strdup(path);
		number = (uint32_t)served->npaths;
		nameset_add(&served->numbers, path, number);
	}
	pthread_mutex_unlock(&served->lock);
	return number;
}

const char *served_path(struct served *served, int64_t number)
{
	const char *path = NULL;

	pthread_mutex_lock(&served->lock);
	if (number > 0 && (uint64_t)number <= served->npaths)
		path = served->paths[number - 1];
	pthread_mutex_unlock(&served->lock);
	return path;
}

/* ---- opening ---- */

/* A UUID that depends on the path alone, since viewers may store it. */
static void make_uuid(const char *path, uint64_t kind, char text[UUID_TEXT])
{
	uint64_t hash[2] = {hash_bytes(path, strlen(path))};
	uint8_t bytes[16];

	hash[1] = hash_number(hash[0] + kind);
	hash[0] = hash_number(hash[1] ^ hash[0]);
	memcpy(bytes, hash, sizeof bytes);
	bytes[6] = (uint8_t)(0x80 | (bytes[6] & 0x0f)); /* version 8, RFC 9562 */
	bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3f));
	uuid_put(bytes, text);
}

static char *trace_name(const char *path)
{
	size_t end = strlen(path), begin;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && path[begin - 1] != '/'; begin--)
		;
	struct buf name = {0};
	buf_add(&name, path + begin, end - begin);
	char *text = mem_strdup(buf_text(&name));
	buf_release(&name);
	return text;
}

static bool read_trace(struct served *served, struct error *err)
{
	if (!events_range(served->index, &served->first, &served->last, err))
		return false;
	served->generation++;
	struct rules *rules = served->source->rules(served->source->arg, err);
	if (!rules)
		return false;
	row_classes_release(&served->classes[0]);
	bool good = served_read_classes(served, rules, &served->classes[0], err);
	rules_free(rules);
	return good;
}

static void init_locks(struct served *served)
{
	pthread_rwlockattr_t kind;

	pthread_rwlockattr_init(&kind);
	pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&served->open, &kind);
	pthread_rwlockattr_destroy(&kind);
	pthread_mutex_init(&served->lock, NULL);
}

bool serving_init(struct serving *serving, const struct serve_options *options, struct error *err)
{
	*serving = (struct serving){.options = options, .ntraces = options->ntraces};
	pthread_mutex_init(&serving->lock, NULL);
	serving->traces = mem_new_array(options->ntraces + 1, sizeof *serving->traces);
	for (unsigned i = 0; i <= WORKERS; i++)
		serving->workers[i] = (struct worker){.serving = serving, .number = i};
	for (size_t i = 0; i < serving->ntraces; i++)
		init_locks(&serving->traces[i]);
	for (size_t i = 0; i < serving->ntraces; i++) {
		struct served *served = &serving->traces[i];
		char *real = realpath(options->traces[i].path, NULL);

		served->source = &options->traces[i];
		served->index = served->source->index;
		served->path = mem_strdup(real ? real : served->source->path);
		free(real); /* allocated by the C library */
		served->name = trace_name(served->path);
		make_uuid(served->path, 1, served->uuid);
		make_uuid(served->path, 2, served->experiment);
		if (!read_trace(served, err))
			return error_while(err, "%s", served->source->path);
	}
	return true;
}

static void close_states(struct served *served)
{
	for (unsigned i = 0; i <= WORKERS; i++)
		for (unsigned config = 0; config < CONFIGS; config++)
			close_place(&served->places[i][config]);
}

static void release_served(struct served *served)
{
	for (unsigned config = 0; config < CONFIGS; config++)
		served_close_config(served, config);
	event_counts_free(served->counts);
	nameset_release(&served->numbers);
	for (size_t i = 0; i < served->npaths; i++)
		mem_free(served->paths[i]);
	for (size_t i = 0; i < served->nbookmarks; i++)
		mem_free(served->bookmarks[i].name);
	mem_free(served->paths);
	mem_free(served->bookmarks);
	mem_free(served->name);
	mem_free(served->path);
	pthread_rwlock_destroy(&served->open);
	pthread_mutex_destroy(&served->lock);
}

void serving_release(struct serving *serving)
{
	for (size_t i = 0; i < serving->ntraces; i++)
		release_served(&serving->traces[i]);
	for (unsigned i = 0; i < CONFIGS; i++)
		rule_config_release(&serving->configs[i]);
	pthread_mutex_destroy(&serving->lock);
	mem_free(serving->traces);
}

/* ---- the keeper ---- */

/* Closes what is open of a trace that grew, and opens it again. */
static void renew_served(struct served *served)
{
	struct error ignored; /* the old trace is still served */
	struct index *index;

	pthread_rwlock_wrlock(&served->open);
	close_states(served);
	if (served->source->renew(served->source->arg, &index)) {
		served->index = index;
		MAY_FAIL(read_trace(served, &ignored));
		pthread_mutex_lock(&served->lock);
		event_counts_free(served->counts);
		served->counts = NULL;
		served->looked = false;
		pthread_mutex_unlock(&served->lock);
	}
	pthread_rwlock_unlock(&served->open);
}

const struct event_counts *served_counts(struct served *served)
{
	pthread_mutex_lock(&served->lock);
	const struct event_counts *counts = served->counts;
	pthread_mutex_unlock(&served->lock);
	return counts;
}

static void count_events(struct served *served, struct worker *worker)
{
	struct event_counts *counts;
	struct error ignored; /* viewers see that events are not counted */

	if (served_counts(served))
		return;
	pthread_rwlock_rdlock(&served->open);
	worker_begin(worker, INT32_MAX);
	if (event_counts_make(served, worker, &counts, &ignored)) {
		pthread_mutex_lock(&served->lock);
		served->counts = counts;
		pthread_mutex_unlock(&served->lock);
	}
	pthread_rwlock_unlock(&served->open);
}

/* Sets class->numbers if values of the class at the trace's end are numbers. */
static void look_at_class(struct served *served, struct state *state, struct row_class *class)
{
	const struct moment end = {.t = served->last};
	struct answers answers = {0};
	struct query *query;
	struct error ignored; /* the class is not drawn as lines */

	if (class->threads || !query_parse(class->path, &query, &ignored))
		return;
	if (state_at(state, &end, 1, (const struct query *const *)&query, 1, false, &answers,
		     &ignored))
		for (size_t i = 0; i < answers.count; i++)
			class->numbers |= value_is_number(&answers.items[i].value);
	answers_release(&answers);
	query_free(query);
}

static void look_at_classes(struct served *served, struct worker *worker)
{
	struct error ignored;

	if (served->looked || served->first > served->last)
		return;
	pthread_rwlock_rdlock(&served->open);
	worker_begin(worker, LOOK_MS);
	struct state *state = served_state(served, worker, 0, &ignored);
	for (size_t i = 0; state && i < served->classes[0].count; i++)
		look_at_class(served, state, &served->classes[0].items[i]);
	close_place(&served->places[worker->number][0]);
	pthread_rwlock_unlock(&served->open);
	served->looked = true;
}

void *keeper_run(void *arg)
{
	struct worker *worker = arg;
	struct serving *serving = worker->serving;

	while (!serving->stops) {
		for (size_t i = 0; i < serving->ntraces && !serving->stops; i++) {
			struct served *served = &serving->traces[i];

			if (served->source->grew && served->source->grew(served->source->arg))
				renew_served(served);
			count_events(served, worker);
			look_at_classes(served, worker);
		}
		for (int ms = 0; ms < KEEPER_MS && !serving->stops; ms += 50)
			nanosleep(&(struct timespec){.tv_nsec = 50 * 1000000L}, NULL);
	}
	return NULL;
}
