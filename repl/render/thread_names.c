/* thread_names.c - a hash table from (part, thread) to the thread's last name */
#include "repl/render/thread_names.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/layout.h"

#include <string.h>

enum { NAME_MAX_BYTES = 31, PAIRS_MAX = 2, COMM_BYTES = 16 };

/* There is one idle thread per CPU; the kernel calls them swapper/0, swapper/1 ... */
static const char swapper[] = "swapper";

struct named_thread {
	int64_t tid;
	uint32_t part;
	uint8_t nlabel;
	uint8_t name, nname;           /* place and length of the name in the label */
	char label[THREAD_LABEL_ROOM]; /* "[4297 demo] " */
	bool has_comm, looked_up;      /* looked_up: learned or asked since thread_names_ask() */
	uint8_t comm[COMM_BYTES];      /* bytes of the field that the name is from */
};

/* The fields of a thread's name in a class. Without `name`, the thread takes that of `like`. */
struct naming_fields {
	struct field_path tid, name, like;
	bool is_comm; /* the name has COMM_BYTES characters, zeros behind them */
};

struct teller {
	bool made;
	uint32_t npairs;
	struct naming_fields pairs[PAIRS_MAX];
};

struct thread_names {
	const struct trace *trace;
	struct teller *tellers; /* per class: its fields with names */
	struct named_thread *entries;
	size_t count, capacity;
	struct hash_index index; /* of entries by part and thread */
	struct named_thread unknown; /* label of the last thread without a name */
	struct buf scratch;
	enum told_before (*ask)(void *arg, int64_t tid, struct buf *out);
	void *ask_arg;
	struct thread_names *first; /* names that were known at thread_names_ask() */
};

/* Fields with names, by the class' name without its subsystem. */
static const struct {
	const char *class, *tid, *name, *like;
} known[] = {
	{"saved_cmdline", "pid", "comm", NULL},
	{"perf_comm", "tid", "comm", NULL},
	{"perf_fork", "tid", NULL, "ptid"},
	{"sched_switch", "prev_pid", "prev_comm", NULL},
	{"sched_switch", "next_pid", "next_comm", NULL},
	{"sched_wakeup", "pid", "comm", NULL},
	{"sched_wakeup_new", "pid", "comm", NULL},
	{"sched_waking", "pid", "comm", NULL},
	{"sched_process_fork", "child_pid", "child_comm", NULL},
	{"task_newtask", "pid", "comm", NULL},
	{"task_rename", "pid", "newcomm", NULL},
};

struct thread_names *thread_names_new(const struct trace *trace)
{
	struct thread_names *names = mem_new(sizeof *names);

	names->trace = trace;
	names->tellers = mem_new_array(trace->nclasses + 1, sizeof *names->tellers);
	return names;
}

void thread_names_free(struct thread_names *names)
{
	if (!names)
		return;
	thread_names_free(names->first);
	mem_free(names->tellers);
	mem_free(names->entries);
	hash_index_release(&names->index);
	buf_release(&names->scratch);
	mem_free(names);
}

void thread_names_take(struct thread_names *names, struct thread_names *from)
{
	thread_names_free(names->first);
	mem_free(names->entries);
	hash_index_release(&names->index);
	names->entries = from->entries;
	names->count = from->count;
	names->capacity = from->capacity;
	names->index = from->index;
	names->first = from->first;
	if (names->first)
		names->first->trace = names->trace;
	from->entries = NULL;
	from->count = from->capacity = 0;
	from->index = (struct hash_index){0};
	from->first = NULL;
}

static uint64_t thread_names_hash_of(uint32_t part, int64_t tid)
{
	return hash_number((uint64_t)tid + part * UINT64_C(0x9e3779b9));
}

/* The entry of a thread; NULL: it has none. */
static struct named_thread *entry_of(const struct thread_names *names, uint32_t part, int64_t tid)
{
	uint32_t at =
		hash_index_find(&names->index, thread_names_hash_of(part, tid), i,
				names->entries[i].tid == tid && names->entries[i].part == part);

	return at != HASH_INDEX_NONE ? &names->entries[at] : NULL;
}

static struct named_thread *thread_names_add_entry(struct thread_names *names, uint32_t part,
						   int64_t tid)
{
	struct named_thread *entry = mem_push(names->entries, names->count, names->capacity);

	hash_index_add(&names->index, thread_names_hash_of(part, tid), names->count - 1);
	return entry;
}

/* Writes the entry's label; `name` may be empty. */
static void thread_names_put_label(struct named_thread *entry, const char *name, size_t len)
{
	char *to = entry->label;

	*to++ = '[';
	to = decimal_put_signed(to, entry->tid);
	if (len)
		*to++ = ' ';
	entry->name = (uint8_t)(to - entry->label);
	entry->nname = (uint8_t)len;
	for (size_t i = 0; i < len; i++)
		*to++ = (unsigned char)name[i] < 32 || name[i] == 127 ? '?' : name[i];
	*to++ = ']';
	*to++ = ' ';
	entry->nlabel = (uint8_t)(to - entry->label);
}
_Static_assert(THREAD_LABEL_ROOM >= 1 + 20 + 1 + NAME_MAX_BYTES + 2 + 8, "and a word of digits");

static void set_name(struct thread_names *names, uint32_t part, int64_t tid, const char *name,
		     size_t len)
{
	struct named_thread *entry = entry_of(names, part, tid);

	if (len > NAME_MAX_BYTES)
		len = NAME_MAX_BYTES;
	if (entry && entry->nname == len && memcmp(entry->label + entry->name, name, len) == 0) {
		entry->looked_up = true;
		return;
	}
	if (!entry)
		entry = thread_names_add_entry(names, part, tid);
	*entry = (struct named_thread){.tid = tid, .part = part, .looked_up = true};
	thread_names_put_label(entry, name, len);
}

/* The thread's entry, after a call of `ask` if that is due; NULL: it has no name. */
static const struct named_thread *thread_names_look_up(struct thread_names *names, uint32_t part,
						       int64_t tid)
{
	struct named_thread *entry = entry_of(names, part, tid);
	struct buf name = {0};

	if (!names->ask || (entry && entry->looked_up))
		return entry;
	enum told_before told = names->ask(names->ask_arg, tid, &name);
	if (told == TOLD_NAME)
		set_name(names, part, tid, buf_text(&name), name.len);
	else if (told == TOLD_UNKNOWN || !entry)
		set_name(names, part, tid, "", 0);
	buf_release(&name);
	entry = entry_of(names, part, tid);
	entry->looked_up = true;
	return entry;
}

static bool find_path(const struct event_class *class, const char *name, struct field_path *out)
{
	return !name || field_path_find(class, 1u << SCOPE_PAYLOAD, &name, 1, out);
}

/* Is it an array of 16 characters, as the kernel's comm? */
static bool is_comm(const struct field_class *class)
{
	return class && class->kind == FIELD_ARRAY && class->length == COMM_BYTES &&
	       class->element->is_text && layout_stride(class->element) == 8;
}

static const struct teller *teller_of(struct thread_names *names, const struct event_class *class)
{
	struct teller *teller = &names->tellers[class->index];

	if (teller->made)
		return teller;
	teller->made = true;
	const char *bare = event_bare_name(class->name);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct naming_fields *pair = &teller->pairs[teller->npairs];
		if (teller->npairs < PAIRS_MAX && strcmp(bare, known[i].class) == 0 &&
		    find_path(class, known[i].tid, &pair->tid) &&
		    find_path(class, known[i].name, &pair->name) &&
		    find_path(class, known[i].like, &pair->like)) {
			pair->is_comm = is_comm(pair->name.class);
			teller->npairs++;
		}
	}
	return teller;
}

static const struct slot *slot_of(const struct fields *fields, const struct field_path *path)
{
	return &fields->slots[fields->class->slot_base[path->scope] + path->slot];
}

static int64_t path_number(const struct fields *fields, const struct field_path *path)
{
	return path->class->kind == FIELD_INT ? slot_of(fields, path)->s : -1;
}

/* The thread's name; NULL: unknown. */
static const char *thread_name(struct thread_names *names, uint32_t part, int64_t tid, size_t *len)
{
	if (tid == 0) {
		*len = sizeof swapper - 1;
		return swapper;
	}
	const struct named_thread *entry = thread_names_look_up(names, part, tid);
	*len = entry ? entry->nname : 0;
	return *len ? entry->label + entry->name : NULL;
}

/* Gives a thread the present name of thread `like`. */
static void learn_like(struct thread_names *names, uint32_t part, int64_t tid, int64_t like)
{
	char copy[NAME_MAX_BYTES + 1];
	size_t len;
	const char *name = thread_name(names, part, like, &len);

	if (name)
		set_name(names, part, tid, memcpy(copy, name, len), len);
}

static void learn_text(struct thread_names *names, int64_t tid, const struct field_path *path,
		       const struct fields *fields)
{
	struct field field;
	size_t len;

	fields_at(fields, path, &field);
	if (!field_is_text(&field))
		return;
	const char *name = (const char *)field_bytes(&field, &names->scratch, &len);
	if (len)
		set_name(names, fields->class->part, tid, name, len);
}

/* Learns a name of type comm. Nearly all events repeat a known name: then the bytes are equal. */
static void learn_comm(struct thread_names *names, int64_t tid, const struct field_path *path,
		       const struct fields *fields)
{
	const struct slot *slot = slot_of(fields, path);
	const uint8_t *comm = fields->data + slot->at / 8;
	uint32_t part = fields->class->part;
	struct named_thread *entry = entry_of(names, part, tid);

	if (slot->at % 8)
		return learn_text(names, tid, path, fields);
	if (entry && entry->has_comm && !memcmp(entry->comm, comm, COMM_BYTES))
		return;
	learn_text(names, tid, path, fields);
	entry = entry_of(names, part, tid);
	if (!entry)
		return;
	entry->has_comm = *comm;
	memcpy(entry->comm, comm, COMM_BYTES);
}

void thread_names_learn(struct thread_names *names, const struct fields *fields)
{
	const struct teller *teller = teller_of(names, fields->class);

	for (uint32_t i = 0; i < teller->npairs; i++) {
		const struct naming_fields *pair = &teller->pairs[i];
		int64_t tid = path_number(fields, &pair->tid);
		if (pair->like.class)
			learn_like(names, fields->class->part, tid,
				   path_number(fields, &pair->like));
		else if (pair->is_comm)
			learn_comm(names, tid, &pair->name, fields);
		else
			learn_text(names, tid, &pair->name, fields);
	}
}

void thread_names_ask(struct thread_names *names,
		      enum told_before (*ask)(void *arg, int64_t tid, struct buf *out), void *arg,
		      bool anew)
{
	names->ask = ask;
	names->ask_arg = arg;
	if (!anew)
		return;
	thread_names_free(names->first);
	names->first = thread_names_new(names->trace);
	for (size_t i = 0; i < names->count; i++) {
		struct named_thread *entry = &names->entries[i];
		set_name(names->first, entry->part, entry->tid, entry->label + entry->name,
			 entry->nname);
		entry->has_comm = entry->looked_up =
			false; /* the next event with the name sets it */
	}
}

const char *thread_names_first(const struct thread_names *names, int64_t tid, size_t *len)
{
	return names->first ? thread_name(names->first, 0, tid, len) : NULL;
}

void thread_names_rules(struct buf *out)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		buf_printf(out, "event %s when payload/%s != 0\n", known[i].class, known[i].tid);
		if (known[i].like)
			buf_printf(out, "  told[payload/%s]/like = payload/%s\n", known[i].tid,
				   known[i].like);
		else
			buf_printf(out,
				   "  told[payload/%s]/name = payload/%s when payload/%s != \"\"\n"
				   "  told[payload/%s]/like = none when payload/%s != \"\"\n",
				   known[i].tid, known[i].name, known[i].name, known[i].tid,
				   known[i].name);
	}
}

bool thread_names_tells(struct thread_names *names, const struct event_class *class)
{
	return teller_of(names, class)->npairs != 0;
}

const char *thread_names_label(struct thread_names *names, uint32_t part, int64_t tid, size_t *len)
{
	const struct named_thread *entry = entry_of(names, part, tid);

	if (__builtin_expect(names->ask && tid && !(entry && entry->looked_up), 0))
		entry = thread_names_look_up(names, part, tid);
	if (tid == 0 || !entry) {
		names->unknown.tid = tid;
		thread_names_put_label(&names->unknown, swapper, tid ? 0 : sizeof swapper - 1);
		entry = &names->unknown;
	}
	*len = entry->nlabel;
	return entry->label;
}
