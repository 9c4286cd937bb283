/* pair_records.c - see pair_records.h */
#include "lua-lib/segments/pair_records.h"

#include "engine/base/mem.h"
#include "state/filter/where.h"

#include <string.h>

/* ---- columns ---- */

const char pairs_who_runs[] = "cpu[cpu]/thread";

static uint32_t add_read(struct pair_reads *reads, const struct pair_read *read)
{
	uint32_t number = reads->count++;

	reads->items[number] = *read;
	for (unsigned k = 0; k < KINDS; k++)
		if (k & read->kinds)
			reads->place[k][number] = reads->nslots[k]++;
	return number;
}

void pair_reads_add(struct pair_reads *reads, struct alternatives *of, uint8_t kinds, bool number)
{
	of->read = add_read(reads, &(struct pair_read){NULL, of, kinds, number});
}

void pair_reads_add_key(struct pair_reads *reads, struct pair_key *key, uint8_t kinds)
{
	key->read = add_read(reads, &(struct pair_read){key, NULL, kinds, false});
}

static bool is_shared(const struct alternatives *of, bool number)
{
	bool shared = true;

	for (size_t i = 0; i < of->count; i++)
		shared = shared &&
			 (of->items[i].kind != COLUMN_STATE || (!of->items[i].expr && !number));
	return shared;
}

bool pair_reads_shared(const struct pair_reads *reads)
{
	bool shared =
		is_shared(&reads->begin_where, false) && is_shared(&reads->finish_where, false);

	for (uint32_t i = 0; i < reads->count; i++) {
		const struct pair_read *read = &reads->items[i];

		for (size_t k = 0; read->key && k < read->key->count; k++)
			shared = shared && is_shared(&read->key->parts[k], false);
		shared = shared && (read->key || is_shared(read->of, read->number));
	}
	return shared;
}

/* The atom of the column's value; with a fast path for integers. */
static inline uint32_t column_atom(const struct bind_column *column, struct event_reader *reader,
				   struct buf *scratch, struct segments *into)
{
	struct value value;
	int64_t number;

	if (column->kind == COLUMN_FIELD &&
	    event_reader_integer(reader, column->places[reader->event.class->index], &number))
		value = value_s64(number);
	else
		event_reader_value(reader, column, scratch, &value);
	return segments_intern(into, &value);
}

uint32_t alternatives_read(const struct alternatives *of, unsigned *left,
			   struct event_reader *reader, struct buf *scratch, struct segments *into)
{
	uint32_t atom = 0;

	for (; *left && !atom; *left &= *left - 1) {
		const struct bind_column *column = &of->items[__builtin_ctz(*left)];
		if (column->kind == COLUMN_STATE)
			return 0;
		atom = column_atom(column, reader, scratch, into);
	}
	return atom;
}

void pair_key_join(struct buf *joined, size_t i, const struct value *part)
{
	buf_add_text(joined, i ? "+" : "");
	value_add_key(part, joined);
}

uint32_t pair_running_atom(const struct pair_reads *reads, struct cpu_runs *runs,
			   const struct event *event, struct segments *into)
{
	const struct cpu_run *run = cpu_runs_at(runs, event->cpu, event->time);

	if (!run || (reads->not_idle && !run->tid))
		return 0;
	const struct value tid = value_s64(run->tid);
	return segments_intern(into, &tid);
}

/* ---- windows ---- */

/* The last event of a key in the window ended a pair, so that the next begin ends none. */
enum { KEY_CLOSED = UINT32_MAX };

struct pair_maker { /* of one thread */
	struct pair_makers *makers;
	struct where_pass *pass;
	struct event_reader reader;
	struct buf scratch, joined;
	bool named; /* the last key came from the event's own fields, not from the state */
	struct pair_list {
		const struct pair_reads *reads;
		/* shares reads->runs; of the window, since earlier ones may follow */
		struct cpu_runs runs;
		struct pair_window *window;
		/* by atom of the key: KEY_CLOSED; or 1 + number of its last begin that may have its
		   end in the window; 0: none */
		uint32_t *heads;
		size_t nheads;
		/* pairs may lose their begin at a loss: those from this record on do not */
		size_t whole_from;
	} lists[PAIRS_MAX];     /* as in struct pair_makers */
	struct pair_list *list; /* the one that the current event is read for */
};

void pair_windows_done(struct pair_makers *makers, struct pair_window *first)
{
	for (struct pair_window *window = first, *next; window; window = next) {
		next = window->next;
		segments_release(&window->atoms);
		pthread_mutex_lock(&makers->lock);
		window->next = makers->spare;
		makers->spare = window;
		pthread_mutex_unlock(&makers->lock);
	}
}

/* A spare window, or a new one. */
static struct pair_window *take_window(struct pair_makers *makers)
{
	struct pair_window *window;

	pthread_mutex_lock(&makers->lock);
	window = makers->spare;
	if (window)
		makers->spare = window->next;
	pthread_mutex_unlock(&makers->lock);
	if (!window)
		window = mem_new(sizeof *window);
	window->nrecords = window->nslots = window->nlosses = 0;
	segments_init(&window->atoms);
	return window;
}

void pair_makers_release(struct pair_makers *makers)
{
	struct pair_window *window;

	while ((window = makers->spare)) {
		makers->spare = window->next;
		mem_free(window->records);
		mem_free(window->slots);
		mem_free(window->losses);
		mem_free(window);
	}
	pthread_mutex_destroy(&makers->lock);
}

static void *new_maker(void *arg)
{
	struct pair_maker *maker = mem_new(sizeof *maker);

	maker->makers = arg;
	maker->pass = maker->makers->pass_new(maker->makers->arg);
	for (size_t i = 0; i < maker->makers->count; i++)
		maker->lists[i].reads = maker->makers->reads[i];
	return maker;
}

static void free_maker(void *arg)
{
	struct pair_maker *maker = arg;

	where_pass_free(maker->pass);
	event_reader_release(&maker->reader);
	buf_release(&maker->scratch);
	buf_release(&maker->joined);
	for (size_t i = 0; i < PAIRS_MAX; i++)
		mem_free(maker->lists[i].heads);
	mem_free(maker);
}

static void *select_arg(void *arg)
{
	return ((struct pair_maker *)arg)->pass;
}

static bool is_interrupted(void *arg)
{
	const struct pair_makers *makers = arg;

	return makers->interrupted(makers->arg);
}

static void begin_records(void *arg)
{
	struct pair_maker *maker = arg;

	for (size_t i = 0; i < maker->makers->count; i++) {
		struct pair_list *list = &maker->lists[i];

		list->window = take_window(maker->makers);
		cpu_runs_share(list->reads->runs, &list->runs);
		if (list->nheads)
			memset(list->heads, 0, list->nheads * sizeof *list->heads);
		list->whole_from = 0;
	}
}

static uint32_t number_slot(struct pair_maker *maker, const struct alternatives *of)
{
	unsigned left = of->may[maker->reader.event.class->index];
	struct segments *atoms = &maker->list->window->atoms;

	while (left) {
		uint32_t atom =
			alternatives_read(of, &left, &maker->reader, &maker->scratch, atoms);
		const struct value *value = segments_atom(atoms, atom);
		if (atom && value->kind == VALUE_INT && !value->negative)
			return atom;
	}
	return 0;
}

static uint32_t value_slot(struct pair_maker *maker, const struct alternatives *of)
{
	unsigned left = of->may[maker->reader.event.class->index];
	struct segments *atoms = &maker->list->window->atoms;
	uint32_t atom = alternatives_read(of, &left, &maker->reader, &maker->scratch, atoms);

	if (atom || !left)
		return atom;
	maker->named = false;
	return pair_running_atom(maker->list->reads, &maker->list->runs, &maker->reader.event,
				 atoms);
}

/* Sets maker->named. */
static uint32_t key_slot(struct pair_maker *maker, const struct pair_key *key)
{
	struct segments *atoms = &maker->list->window->atoms;

	maker->named = true;
	if (key->count == 1)
		return value_slot(maker, &key->parts[0]);
	buf_clear(&maker->joined);
	for (size_t i = 0; i < key->count; i++) {
		uint32_t atom = value_slot(maker, &key->parts[i]);
		if (!atom)
			return 0;
		pair_key_join(&maker->joined, i, segments_atom(atoms, atom));
	}
	struct value value = value_text(buf_text(&maker->joined), maker->joined.len);
	return segments_intern(atoms, &value);
}

/* Adds the slots of an event of these kinds to the record; those of kinds that it lacks are 0. */
static void read_slots(struct pair_maker *maker, uint8_t kinds, struct pair_record *record)
{
	const struct pair_reads *reads = maker->list->reads;
	struct pair_window *window = maker->list->window;

	record->slots = (uint32_t)window->nslots;
	for (uint32_t i = 0; i < reads->count; i++) {
		const struct pair_read *read = &reads->items[i];
		uint32_t slot = 0;

		if (!(read->kinds & kinds))
			continue;
		if (!(read->kinds & record->kinds))
			slot = 0;
		else if (read->key)
			slot = key_slot(maker, read->key);
		else if (read->number)
			slot = number_slot(maker, read->of);
		else
			slot = value_slot(maker, read->of);
		if (read->key && !maker->named)
			record->unnamed |= read->kinds;
		*mem_push(window->slots, window->nslots, window->slots_capacity) = slot;
	}
}

/* ---- pairs of one window ---- */

static uint32_t *head_of(struct pair_maker *maker, const struct pair_key *key,
			 const struct pair_record *record)
{
	uint32_t atom = pair_slot(maker->list->reads, maker->list->window, record, key->read);

	if (!atom)
		return NULL;
	maker->list->heads = mem_reach(maker->list->heads, atom, &maker->list->nheads,
				       sizeof *maker->list->heads);
	return &maker->list->heads[atom];
}

static bool pair_records_fits(const struct pair_maker *maker, const struct pair_record *begin,
			      const struct pair_record *end)
{
	const struct pair_reads *reads = maker->list->reads;
	uint32_t one = 0, other = 0;

	if (reads->same->count) {
		one = pair_slot(reads, maker->list->window, begin, reads->same->read);
		other = pair_slot(reads, maker->list->window, end, reads->same->read);
	}
	return (!one || !other || one == other) &&
	       !pair_names_differ(reads, begin->class, end->class);
}

/* Finds the begin of an end, if no other event can be between them or end the begun pair. */
static void pair_end(struct pair_maker *maker, struct pair_record *end)
{
	const struct pair_reads *reads = maker->list->reads;
	uint32_t *head = head_of(maker, reads->finish_key, end);
	uint32_t number = head && *head != KEY_CLOSED ? *head : 0;

	if (head)
		*head = KEY_CLOSED;
	if (!number)
		return;
	struct pair_record *begin = &maker->list->window->records[number - 1];
	if (reads->nested)
		*head = begin->below;
	if (number > maker->list->whole_from && pair_records_fits(maker, begin, end)) {
		begin->kinds &= (uint8_t)~KIND_BEGIN;
		end->begin = number;
	}
}

static void pair_begin(struct pair_maker *maker, struct pair_record *begin)
{
	uint32_t *head = head_of(maker, maker->list->reads->begin_key, begin);
	uint32_t number = (uint32_t)(begin - maker->list->window->records) + 1;

	if (!head)
		return;
	begin->below = *head;
	*head = maker->list->reads->nested || *head == KEY_CLOSED ? number : 0;
}

/* ---- records ---- */

static bool pair_records_holds(struct pair_maker *maker, const struct alternatives *where)
{
	return !where->count || value_slot(maker, where);
}

/* The kinds that the event is taken for. */
static uint8_t kinds_of(struct pair_maker *maker, uint8_t kinds)
{
	const struct pair_reads *reads = maker->list->reads;

	if (kinds & KIND_FINISH && !pair_records_holds(maker, &reads->finish_where))
		kinds &= (uint8_t)~KIND_FINISH;
	if (kinds & (KIND_BEGIN | KIND_AT) && !pair_records_holds(maker, &reads->begin_where))
		kinds &= KIND_FINISH;
	return kinds;
}

static void add_record(struct pair_maker *maker, uint8_t kinds)
{
	const struct event *event = &maker->reader.event;
	struct pair_window *window = maker->list->window;
	struct pair_record record = {.time = event->time,
				     .class = event->class->index,
				     .cpu = event->cpu,
				     .kinds = kinds_of(maker, kinds)};

	if (!record.kinds)
		return;
	read_slots(maker, kinds, &record);
	struct pair_record *added =
		mem_push(window->records, window->nrecords, window->records_capacity);
	*added = record;
	if (record.kinds & KIND_FINISH)
		pair_end(maker, added);
	if (record.kinds & KIND_BEGIN)
		pair_begin(maker, added);
}

/* Reads entry i of the reader's run, for each list that has its class. */
static void read_entry(struct pair_maker *maker, uint32_t i, uint32_t class)
{
	bool moved = false;

	for (size_t k = 0; k < maker->makers->count; k++) {
		const struct pair_reads *reads = maker->lists[k].reads;

		if (!reads->kinds[class])
			continue;
		if (!moved)
			event_reader_move(&maker->reader, reads->trace, i);
		moved = true;
		maker->list = &maker->lists[k];
		add_record(maker, reads->kinds[class]);
	}
}

static bool read_run(void *arg, const struct run *run)
{
	struct pair_maker *maker = arg;
	struct event_reader *reader = &maker->reader;

	reader->run = *run;
	event_reader_turn(reader);
	for (uint32_t i = run->first; i < run->first + run->count; i++)
		if (run->batch->time[i] > NSTIME_MIN)
			read_entry(maker, i, run->batch->class_index[i]);
	bool failed = reader->failed;
	reader->failed = false;
	return !failed;
}

static void read_loss(void *arg, const struct event *loss)
{
	struct pair_maker *maker = arg;

	for (size_t i = 0; maker->makers->losses && i < maker->makers->count; i++) {
		struct pair_window *window = maker->lists[i].window;

		*mem_push(window->records, window->nrecords, window->records_capacity) =
			(struct pair_record){
				.time = loss->time, .class = PAIR_LOSS, .cpu = loss->cpu};
		*mem_push(window->losses, window->nlosses, window->losses_capacity) = *loss;
		maker->lists[i].whole_from = window->nrecords;
	}
}

static void *take_records(void *arg, size_t *bytes)
{
	struct pair_maker *maker = arg;
	struct pair_window *first = NULL;

	*bytes = 0;
	for (size_t i = maker->makers->count; i--;) {
		struct pair_window *window = maker->lists[i].window;

		*bytes += window->records_capacity * sizeof *window->records +
			  window->slots_capacity * sizeof *window->slots;
		window->next = first;
		first = window;
		maker->lists[i].window = NULL;
		cpu_runs_unshare(&maker->lists[i].runs);
	}
	return first;
}

static void drop_records(void *arg, void *made)
{
	pair_windows_done(arg, made);
}

void pair_windows_setup(struct pair_makers *makers, struct windows_setup *setup)
{
	pthread_mutex_init(&makers->lock, NULL);
	setup->arg = makers;
	setup->interrupted = is_interrupted;
	setup->maker_new = new_maker;
	setup->maker_free = free_maker;
	setup->select_arg = select_arg;
	setup->begin = begin_records;
	setup->run = read_run;
	setup->loss = read_loss;
	setup->take = take_records;
	setup->drop = drop_records;
}
