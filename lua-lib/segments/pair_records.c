/* pair_records.c - see pair_records.h */
#include "lua-lib/segments/pair_records.h"

#include "engine/base/mem.h"
#include "state/filter/where.h"

/* ---- columns ---- */

void pair_reads_add(struct pair_reads *reads, struct alternatives *of, uint8_t kinds, bool number)
{
	of->read = reads->count;
	reads->items[reads->count++] = (struct pair_read){of, kinds, number};
	for (unsigned k = 0; k < KINDS; k++)
		if (k & kinds)
			reads->place[k][of->read] = reads->nslots[k]++;
}

bool pair_reads_shared(const struct pair_reads *reads)
{
	bool shared = true;

	for (uint32_t i = 0; i < reads->count; i++)
		for (size_t k = 0; k < reads->items[i].of->count; k++)
			shared = shared &&
				 (reads->items[i].of->items[k].kind != COLUMN_STATE ||
				  (!reads->items[i].of->items[k].expr && !reads->items[i].number));
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

/* ---- windows ---- */

struct pair_maker { /* of one thread */
	const struct pair_makers *makers;
	struct where_pass *pass;
	struct event_reader reader;
	struct buf scratch;
	struct pair_window *window;
};

void pair_window_free(struct pair_window *window)
{
	if (!window)
		return;
	mem_free(window->records);
	mem_free(window->slots);
	mem_free(window->losses);
	segments_release(&window->atoms);
	mem_free(window);
}

static void *new_maker(void *arg)
{
	struct pair_maker *maker = mem_new(sizeof *maker);

	maker->makers = arg;
	maker->pass = maker->makers->pass_new(maker->makers->arg);
	return maker;
}

static void free_maker(void *arg)
{
	struct pair_maker *maker = arg;

	where_pass_free(maker->pass);
	event_reader_release(&maker->reader);
	buf_release(&maker->scratch);
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

	maker->window = mem_new(sizeof *maker->window);
	segments_init(&maker->window->atoms);
}

static uint32_t number_slot(struct pair_maker *maker, const struct alternatives *of)
{
	unsigned left = of->may[maker->reader.event.class->index];
	struct segments *atoms = &maker->window->atoms;

	while (left) {
		uint32_t atom =
			alternatives_read(of, &left, &maker->reader, &maker->scratch, atoms);
		const struct value *value = segments_atom(atoms, atom);
		if (atom && value->kind == VALUE_INT && !value->negative)
			return atom;
	}
	return 0;
}

static uint32_t slot_of(struct pair_maker *maker, const struct pair_read *read)
{
	unsigned left = read->of->may[maker->reader.event.class->index];

	if (read->number)
		return number_slot(maker, read->of);
	uint32_t atom = alternatives_read(read->of, &left, &maker->reader, &maker->scratch,
					  &maker->window->atoms);
	return atom || !left ? atom : PAIR_RUNNING;
}

static void add_record(struct pair_maker *maker, uint8_t kind)
{
	const struct pair_reads *reads = maker->makers->reads;
	const struct event *event = &maker->reader.event;
	struct pair_window *window = maker->window;

	*mem_push(window->records, window->nrecords, window->records_capacity) =
		(struct pair_record){event->time, event->class->index, event->cpu};
	for (uint32_t i = 0; i < reads->count; i++)
		if (reads->items[i].kinds & kind)
			*mem_push(window->slots, window->nslots, window->slots_capacity) =
				slot_of(maker, &reads->items[i]);
}

static bool read_run(void *arg, const struct run *run)
{
	struct pair_maker *maker = arg;
	const struct pair_reads *reads = maker->makers->reads;
	struct event_reader *reader = &maker->reader;

	reader->run = *run;
	event_reader_turn(reader);
	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		uint8_t kind = reads->kinds[run->batch->class_index[i]];
		if (!kind || run->batch->time[i] == NSTIME_MIN)
			continue;
		event_reader_move(reader, reads->trace, i);
		add_record(maker, kind);
	}
	bool failed = reader->failed;
	reader->failed = false;
	return !failed;
}

static void read_loss(void *arg, const struct event *loss)
{
	struct pair_maker *maker = arg;
	struct pair_window *window = maker->window;

	if (!maker->makers->losses)
		return;
	*mem_push(window->records, window->nrecords, window->records_capacity) =
		(struct pair_record){loss->time, PAIR_LOSS, loss->cpu};
	*mem_push(window->losses, window->nlosses, window->losses_capacity) = *loss;
}

static void *take_records(void *arg, size_t *bytes)
{
	struct pair_maker *maker = arg;
	struct pair_window *window = maker->window;

	*bytes = window->records_capacity * sizeof *window->records +
		 window->slots_capacity * sizeof *window->slots;
	maker->window = NULL;
	return window;
}

static void drop_records(void *arg, void *made)
{
	(void)arg;
	pair_window_free(made);
}

void pair_windows_setup(struct pair_makers *makers, struct windows_setup *setup)
{
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
