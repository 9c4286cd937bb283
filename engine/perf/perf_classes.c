/*
 * perf_classes.c - attributes and record types → event classes
 *
 * Each attribute has a class for its samples; each other record type has one per kind of id
 * trailer. A class's ops say how to read each item, in the record's order. One layout could not do
 * it, as items of a sample stand on both sides of a tracepoint's raw record. layout_compile()
 * assigns the slots, which are then copied to the ops.
 */
#include "engine/base/mem.h"
#include "engine/field_make.h"
#include "engine/perf/perf_internal.h"

enum { MEMBERS_MOST = 64, OPS_MOST = 64, CLASS_SIDE = 0x10000, CLASS_BUILD_ID = 0x100 };
/* Items of the id trailer behind other records; in this order, the identifier last. */
#define SAMPLE_SIDE (SAMPLE_TID | SAMPLE_TIME | SAMPLE_ID | SAMPLE_STREAM_ID | SAMPLE_CPU)

struct tree {
	struct member members[MEMBERS_MOST];
	uint32_t count;
};

struct perf_builder { /* builds one class */
	struct perf_part *part;
	struct tree context, payload;
	struct perf_op ops[OPS_MOST];
	uint32_t nops;
	const struct tracing_format *format;
	bool offcpu; /* thread, period and call chain are in the raw record */
};

static struct field_class *new_int(struct perf_builder *m, uint32_t bits, bool is_signed)
{
	struct field_class *class = field_make_int(m->part->trace->arena, bits, is_signed);

	class->big_endian = m->part->swap;
	return class;
}

static struct field_class *new_hex(struct perf_builder *m, bool is_address)
{
	struct field_class *class = new_int(m, 64, false);

	class->base = 16;
	class->is_address = is_address;
	return class;
}

static struct member *add_member(struct tree *tree, const char *name, struct field_class *class)
{
	struct member *member = &tree->members[tree->count++];

	*member = (struct member){.name = name, .written = name, .class = class};
	return member;
}

static struct field_class *close_tree(struct perf_builder *m, const struct tree *tree)
{
	struct field_class *class = field_make_struct(m->part->trace->arena, tree->count);

	class->nmembers = tree->count;
	memcpy(class->members, tree->members, tree->count * sizeof *class->members);
	return class;
}

static struct perf_op *add_op(struct perf_builder *m, enum perf_op_kind kind)
{
	struct perf_op *op = &m->ops[m->nops++];

	*op = (struct perf_op){.kind = (uint8_t)kind};
	return op;
}

static void add_int(struct perf_builder *m, struct tree *tree, const char *name,
		    struct field_class *class)
{
	struct perf_op *op = add_op(m, ITEM_INT);

	op->bytes = (uint8_t)(class->bits / 8);
	op->is_signed = class->is_signed;
	op->node[0] = class;
	add_member(tree, name, class);
}

/* Adds a hidden length and a sequence of as many elements. */
static void add_run(struct perf_builder *m, struct tree *tree, const char *name,
		    struct field_class *element, struct field_class **length,
		    struct field_class **run)
{
	struct arena *arena = m->part->trace->arena;

	*length = new_int(m, 64, false);
	*run = field_make(arena, FIELD_SEQUENCE);
	(*run)->element = element;
	(*run)->ref = *length;
	add_member(tree, arena_printf(arena, "%s_length", name), *length)->hidden = true;
	add_member(tree, name, *run);
}

static struct field_class *byte_class(struct perf_builder *m)
{
	return new_int(m, 8, false);
}

static struct perf_op *add_blob(struct perf_builder *m, struct tree *tree, const char *name,
				enum perf_op_kind kind)
{
	struct perf_op *op = add_op(m, kind);

	add_run(m, tree, name, byte_class(m), &op->node[0], &op->node[1]);
	op->node[1]->is_blob = true;
	return op;
}

/* Adds the values of one counter or of a group, by read_format. */
static void add_read(struct perf_builder *m, struct tree *tree, uint64_t format)
{
	struct perf_op *op = add_op(m, ITEM_READ);
	struct tree *read = mem_new(sizeof *read), *value = mem_new(sizeof *value);

	op->format = format;
	if (!(format & READ_GROUP))
		add_member(read, "value", op->node[0] = new_int(m, 64, false));
	if (format & READ_ENABLED)
		add_member(read, "time_enabled", op->node[1] = new_int(m, 64, false));
	if (format & READ_RUNNING)
		add_member(read, "time_running", op->node[2] = new_int(m, 64, false));
	struct tree *each = format & READ_GROUP ? value : read;
	if (format & READ_GROUP)
		add_member(value, "value", new_int(m, 64, false));
	if (format & READ_ID)
		add_member(each, "id", op->node[3] = new_int(m, 64, false));
	if (format & READ_LOST)
		add_member(each, "lost", op->node[4] = new_int(m, 64, false));
	if (format & READ_GROUP) {
		struct field_class *element = close_tree(m, value);
		add_run(m, read, "values", element, &op->node[0], &op->node[3]);
		op->node[4] = NULL;
	}
	add_member(tree, "read", close_tree(m, read));
	mem_free(read);
	mem_free(value);
}

/* struct perf_branch_entry, a bit field in the machine's order. */
static struct field_class *branch_class(struct perf_builder *m)
{
	static const struct branch_bit {
		const char *name;
		uint32_t bits;
	} parts[] = {{"mispred", 1}, {"predicted", 1}, {"in_tx", 1}, {"abort", 1},
		     {"cycles", 16}, {"type", 4},      {"spec", 2},  {"new_type", 4},
		     {"priv", 3},    {"reserved", 31}};
	struct tree *entry = mem_new(sizeof *entry);

	add_member(entry, "from", new_hex(m, true));
	add_member(entry, "to", new_hex(m, true));
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		struct field_class *bits = new_int(m, parts[i].bits, false);
		bits->align = 1;
		add_member(entry, parts[i].name, bits)->hidden = parts[i].bits == 31;
	}
	struct field_class *class = close_tree(m, entry);
	mem_free(entry);
	return class;
}

static void add_branches(struct perf_builder *m, const struct perf_attr *attr)
{
	struct perf_op *op = add_op(m, ITEM_BRANCHES);

	op->has_index = attr->branch_sample_type & BRANCH_HW_INDEX;
	op->has_counters = attr->branch_sample_type & BRANCH_COUNTERS;
	if (op->has_index)
		add_member(&m->context, "branch_hw_index", op->node[2] = new_int(m, 64, true));
	add_run(m, &m->context, "branch_stack", branch_class(m), &op->node[0], &op->node[1]);
	if (op->has_counters)
		add_run(m, &m->context, "branch_counters", new_hex(m, false), &op->node[3],
			&op->node[4]);
}

static void add_registers(struct perf_builder *m, const char *name, uint64_t mask)
{
	struct perf_op *op = add_op(m, ITEM_REGS);
	struct arena *arena = m->part->trace->arena;

	op->count = (uint16_t)__builtin_popcountll(mask);
	add_member(&m->context, arena_printf(arena, "%s_abi", name),
		   op->node[2] = new_int(m, 64, false));
	add_run(m, &m->context, name, new_hex(m, false), &op->node[0], &op->node[1]);
}

static void add_namespaces(struct perf_builder *m, struct tree *tree, const char *name)
{
	struct perf_op *op = add_op(m, ITEM_PAIRS);
	struct tree *pair = mem_new(sizeof *pair);

	add_member(pair, "dev", new_int(m, 64, false));
	add_member(pair, "ino", new_int(m, 64, false));
	add_run(m, tree, name, close_tree(m, pair), &op->node[0], &op->node[1]);
	mem_free(pair);
}

static void add_string(struct perf_builder *m, struct tree *tree, const char *name)
{
	struct perf_op *op = add_op(m, ITEM_STRING);

	op->node[0] = field_make(m->part->trace->arena, FIELD_STRING);
	add_member(tree, name, op->node[0]);
}

static void add_misc(struct perf_builder *m, struct tree *tree, char *name)
{
	size_t len = strlen(name);
	struct perf_op *op = add_op(m, ITEM_MISC);

	op->bit = (uint16_t)(10 * (name[len - 2] - '0') + name[len - 1] - '0');
	name[len - 2] = 0;
	op->node[0] = new_int(m, 8, false);
	add_member(tree, name, op->node[0]);
}

static void add_poke(struct perf_builder *m, struct tree *tree)
{
	struct perf_op *op = add_op(m, ITEM_POKE);

	add_run(m, tree, "old_bytes", byte_class(m), &op->node[0], &op->node[1]);
	add_run(m, tree, "new_bytes", byte_class(m), &op->node[2], &op->node[3]);
	op->node[1]->is_blob = op->node[3]->is_blob = true;
}

static void add_item(struct perf_builder *m, struct tree *tree, char letter, char *name,
		     uint64_t read_format)
{
	static const char widths[] = "bhwq";
	const char *width = strchr(widths, letter);

	if (width) {
		add_int(m, tree, name, new_int(m, 8u << (width - widths), false));
	} else if (letter == 'd') {
		add_int(m, tree, name, new_int(m, 32, true));
	} else if (letter == 'a' || letter == 'x') {
		add_int(m, tree, name, new_hex(m, letter == 'a'));
	} else if (letter == 's') {
		add_string(m, tree, name);
	} else if (letter == 'm') {
		add_misc(m, tree, name);
	} else if (letter == 'n') {
		add_namespaces(m, tree, name);
	} else if (letter == 'r' && read_format & ~(uint64_t)READ_KNOWN) {
		add_blob(m, tree, "unread", ITEM_REST);
	} else if (letter == 'r') {
		add_read(m, tree, read_format);
	} else if (letter == 'c') {
		struct perf_op *op = add_op(m, ITEM_CHAIN);
		add_run(m, tree, name, new_hex(m, true), &op->node[0], &op->node[1]);
	} else if (letter == '*') {
		add_blob(m, tree, name, ITEM_REST);
	} else if (letter == 'k') {
		add_poke(m, tree);
	} else if (letter == 'i') {
		add_blob(m, tree, name, ITEM_BUILD_ID);
	} else {
		add_blob(m, tree, name, ITEM_BYTES)->count = 8;
	}
}

/*
 * A letter an item: b h w q unsigned of 1, 2, 4, 8 bytes, d signed of 4, a address, x hex, s
 * string, n namespaces, r counters, i build id, k poked bytes, t tag of 8 bytes, c call chain, *
 * all bytes that there are, m bit of misc (its number follows the name), _ eight bytes unused.
 */
static void add_items(struct perf_builder *m, struct tree *tree, const char *letters,
		      const char *members, uint64_t read_format)
{
	char *names = arena_strdup(m->part->trace->arena, members);

	for (; *letters; letters++)
		if (*letters == '_')
			add_op(m, ITEM_PASS);
		else
			add_item(m, tree, *letters, strsep(&names, " "), read_format);
}

/* Items of a sample by sample_type, in order; `instead`: --off-cpu has the item in the raw bytes.
 */
static const struct sample_item {
	uint64_t bit;
	const char *letters, *members;
	bool instead;
} sampled[] = {
	{SAMPLE_IP, "a", "ip", true},
	{SAMPLE_TID, "dd", "pid tid", true},
	{SAMPLE_TIME, "_", "", false},
	{SAMPLE_ADDR, "a", "addr", false},
	{SAMPLE_ID, "q", "id", false},
	{SAMPLE_STREAM_ID, "q", "stream_id", false},
	{SAMPLE_CPU, "_", "", false},
	{SAMPLE_PERIOD, "q", "period", true},
	{SAMPLE_DATA_SRC, "x", "data_src", false},
	{SAMPLE_TRANSACTION, "x", "transaction", false},
	{SAMPLE_PHYS_ADDR, "x", "phys_addr", false},
	{SAMPLE_CGROUP, "q", "cgroup", true},
	{SAMPLE_DATA_PAGE_SIZE, "q", "data_page_size", false},
	{SAMPLE_CODE_PAGE_SIZE, "q", "code_page_size", false},
};

static void add_sampled(struct perf_builder *m, uint64_t bits)
{
	for (size_t i = 0; i < sizeof sampled / sizeof *sampled; i++)
		if (bits & sampled[i].bit && sampled[i].instead && m->offcpu)
			add_op(m, ITEM_PASS);
		else if (bits & sampled[i].bit)
			add_items(m, &m->context, sampled[i].letters, sampled[i].members, 0);
}

/*
 * perf record --off-cpu, from 6.16 on: samples are written by a BPF program, so that thread, period
 * and call chain of the record are those of whoever ran it. The right ones are its raw bytes.
 * __set_offcpu_sample() in tools/perf/util/evsel.c.
 */
static bool is_offcpu(const struct perf_attr *attr)
{
	enum { SOFTWARE = 1, BPF_OUTPUT = 10 };

	return attr->type == SOFTWARE && attr->config == BPF_OUTPUT &&
	       attr->sample_type & SAMPLE_RAW && !strcmp(attr->name, "offcpu-time");
}

static void add_offcpu(struct perf_builder *m)
{
	struct tree *context = &m->context;
	struct field_class *ip = new_hex(m, true);

	add_op(m, ITEM_RAW_BEGIN);
	add_member(context, "ip", ip);
	add_items(m, context, "ddq", "pid tid period", 0);
	struct perf_op *op = add_op(m, ITEM_CHAIN);
	op->node[2] = ip;
	add_run(m, context, "callchain", new_hex(m, true), &op->node[0], &op->node[1]);
	add_int(m, context, "cgroup", new_int(m, 64, false));
	add_op(m, ITEM_RAW_END);
}

static void add_raw(struct perf_builder *m)
{
	if (m->offcpu) {
		add_offcpu(m);
		return;
	}
	if (!m->format) {
		add_blob(m, &m->payload, "raw", ITEM_RAW_BLOB);
		return;
	}
	add_op(m, ITEM_RAW);
}

static void add_weight(struct perf_builder *m)
{
	struct perf_op *op = add_op(m, ITEM_WEIGHTS);

	add_member(&m->context, "weight", op->node[0] = new_int(m, 32, false));
	add_member(&m->context, "ins_lat", op->node[1] = new_int(m, 16, false));
	add_member(&m->context, "p_stage_cyc", op->node[2] = new_int(m, 16, false));
}

static void add_stack(struct perf_builder *m)
{
	struct perf_op *op = add_blob(m, &m->context, "stack_user", ITEM_STACK);

	add_member(&m->context, "stack_user_used", op->node[2] = new_int(m, 64, false));
}

/* Adds the record's remaining bytes as a member, for an item of unknown layout. */
static void add_rest(struct perf_builder *m)
{
	add_blob(m, &m->context, "unread", ITEM_REST);
}

static void add_counts(struct perf_builder *m, const struct perf_attr *attr)
{
	const uint64_t type = attr->sample_type;
	struct tree *context = &m->context;

	if (type & SAMPLE_WEIGHT_STRUCT)
		add_weight(m);
	else if (type & SAMPLE_WEIGHT)
		add_int(m, context, "weight", new_int(m, 64, false));
	add_sampled(m, type & (SAMPLE_DATA_SRC | SAMPLE_TRANSACTION));
	if (type & SAMPLE_REGS_INTR)
		add_registers(m, "regs_intr", attr->regs_intr);
	add_sampled(m, type & (SAMPLE_PHYS_ADDR | SAMPLE_CGROUP | SAMPLE_DATA_PAGE_SIZE |
			       SAMPLE_CODE_PAGE_SIZE));
	if (type & SAMPLE_AUX)
		add_blob(m, context, "aux", ITEM_SIZED);
	if (type & ~(uint64_t)SAMPLE_KNOWN)
		add_rest(m);
}

/* Adds the items from `read` on, up to one of unknown layout, which adds the remaining bytes. */
static void add_long_items(struct perf_builder *m, const struct perf_attr *attr)
{
	const uint64_t type = attr->sample_type;
	struct tree *context = &m->context;

	if (type & SAMPLE_READ && attr->read_format & ~(uint64_t)READ_KNOWN) {
		m->format = NULL;
		add_rest(m);
		return;
	}
	if (type & SAMPLE_READ)
		add_read(m, context, attr->read_format);
	if (type & SAMPLE_CALLCHAIN) {
		struct perf_op *op = add_op(m, ITEM_CHAIN);
		if (!m->offcpu)
			add_run(m, context, "callchain", new_hex(m, true), &op->node[0],
				&op->node[1]);
	}
	if (type & SAMPLE_RAW)
		add_raw(m);
	if (type & SAMPLE_BRANCH_STACK) {
		add_branches(m, attr);
		if (attr->branch_sample_type & ~BRANCH_KNOWN) {
			add_rest(m);
			return;
		}
	}
	if (type & SAMPLE_REGS_USER)
		add_registers(m, "regs_user", attr->regs_user);
	if (type & SAMPLE_STACK_USER)
		add_stack(m);
	add_counts(m, attr);
}

/* Adds all items that the attribute's sample_type has, in the order of the record. */
static void add_sample_items(struct perf_builder *m, const struct perf_attr *attr)
{
	const uint64_t type = attr->sample_type;

	if (type & SAMPLE_IDENTIFIER)
		add_items(m, &m->context, type & SAMPLE_ID ? "_" : "q", "id", 0);
	add_sampled(m, type & (SAMPLE_IP | SAMPLE_ADDR | SAMPLE_PERIOD | SAMPLE_SIDE));
	add_long_items(m, attr);
}

static void add_trailer(struct perf_builder *m, const struct perf_attr *attr)
{
	const uint64_t type = attr->flags & ATTR_SAMPLE_ID_ALL ? attr->sample_type : 0;

	add_op(m, ITEM_TRAILER);
	add_sampled(m, type & SAMPLE_SIDE);
	if (type & SAMPLE_IDENTIFIER && !(type & SAMPLE_ID))
		add_items(m, &m->context, "q", "id", 0);
}

/* The items of each record type, in the letters of add_items(). */
static const struct record_body {
	const char *name, *letters, *members;
	bool build_id; /* MMAP2 with misc bit 14 */
} sides[] = {
	[PERF_MMAP] = {"perf_mmap", "ddaqxs", "pid tid addr len pgoff filename", false},
	[PERF_LOST] = {"perf_lost", "qq", "id lost", false},
	[PERF_COMM] = {"perf_comm", "ddsm", "pid tid comm exec13", false},
	[PERF_EXIT] = {"perf_exit", "dddd_", "pid ppid tid ptid", false},
	[PERF_THROTTLE] = {"perf_throttle", "_qq", "id stream_id", false},
	[PERF_UNTHROTTLE] = {"perf_unthrottle", "_qq", "id stream_id", false},
	[PERF_FORK] = {"perf_fork", "dddd_", "pid ppid tid ptid", false},
	[PERF_READ] = {"perf_read", "ddr", "pid tid read", false},
	[PERF_MMAP2] = {"perf_mmap2", "ddaqxwwqqwws",
			"pid tid addr len pgoff maj min ino ino_generation prot flags filename",
			false},
	[PERF_AUX] = {"perf_aux", "qqq", "aux_offset aux_size flags", false},
	[PERF_ITRACE_START] = {"perf_itrace_start", "dd", "pid tid", false},
	[PERF_LOST_SAMPLES] = {"perf_lost_samples", "q", "lost", false},
	[PERF_SWITCH] = {"perf_switch", "mm", "out13 preempt14", false},
	[PERF_SWITCH_CPU_WIDE] = {"perf_switch_cpu_wide", "ddmm",
				  "next_prev_pid next_prev_tid out13 preempt14", false},
	[PERF_NAMESPACES] = {"perf_namespaces", "ddn", "pid tid namespaces", false},
	[PERF_KSYMBOL] = {"perf_ksymbol", "awhhs", "addr len ksym_type flags name", false},
	[PERF_BPF_EVENT] = {"perf_bpf_event", "hhwt", "type flags id tag", false},
	[PERF_CGROUP] = {"perf_cgroup", "qs", "id path", false},
	[PERF_TEXT_POKE] = {"perf_text_poke", "ak", "addr bytes", false},
	[PERF_AUX_OUTPUT_HW_ID] = {"perf_aux_output_hw_id", "q", "hw_id", false},
	[PERF_CALLCHAIN_DEFERRED] = {"perf_callchain_deferred", "qc", "cookie callchain", false},
};
static const struct record_body mmap2_build_id = {
	"perf_mmap2", "ddaqxiwws", "pid tid addr len pgoff build_id prot flags filename", true};

static bool finish_class(struct perf_builder *m, const char *name, uint64_t id,
			 struct perf_class **out, struct error *err)
{
	struct perf_part *part = m->part;
	struct arena *arena = part->trace->arena;
	struct event_class *class = trace_add_class(part->trace, part->part, name);
	struct perf_class *perf = arena_alloc(arena, sizeof *perf);
	struct field_class *const roots[] = {close_tree(m, &m->context),
					     close_tree(m, &m->payload)};
	struct layout_registers registers = {part->registers};
	struct layout_grid grid = {UINT64_C(1) << 31, 0};
	struct layout *layout;
	uint32_t bases[2], shift = m->format ? m->format->nslots : 0;

	layout_allot(roots, 2, &registers);
	part->registers = registers.count;
	if (!layout_compile(roots, 2, bases, &grid, arena, &layout, err))
		return error_while(err, "event %s", name);
	class->id = id;
	class->priv = perf;
	class->nslots = shift + layout_slots(layout);
	if (class->nslots > part->most_slots)
		part->most_slots = class->nslots;
	class->scope[SCOPE_EVENT_CONTEXT] = m->context.count ? roots[0] : NULL;
	class->slot_base[SCOPE_EVENT_CONTEXT] = shift + bases[0];
	class->scope[SCOPE_PAYLOAD] = roots[1];
	class->slot_base[SCOPE_PAYLOAD] = shift + bases[1];
	if (m->format) {
		class->scope[SCOPE_STREAM_EVENT_CONTEXT] = m->format->common;
		class->slot_base[SCOPE_STREAM_EVENT_CONTEXT] = m->format->slot_base[0];
		class->scope[SCOPE_PAYLOAD] = m->format->payload;
		class->slot_base[SCOPE_PAYLOAD] = m->format->slot_base[1];
	}
	*perf = (struct perf_class){.class = class,
				    .index = class->index,
				    .tracing = part->tracing,
				    .format = m->format,
				    .nops = m->nops,
				    .told = arena_alloc(arena, sizeof(atomic_bool))};
	perf->ops = arena_copy(arena, m->ops, m->nops, sizeof *perf->ops);
	bool in_context = false; /* which root a node is of says its base */
	for (uint32_t i = 0; i < m->nops; i++) {
		in_context |= m->ops[i].kind == ITEM_TRAILER;
		bool payload = id >= CLASS_SIDE ? !in_context : m->ops[i].kind == ITEM_RAW_BLOB;
		for (unsigned k = 0; k < ITEM_SLOTS; k++)
			perf->ops[i].slot[k] =
				m->ops[i].node[k] ? shift + bases[payload] + m->ops[i].node[k]->slot
						  : ITEM_NO_SLOT;
	}
	*out = perf;
	return true;
}

static bool add_sample_class(struct perf_part *part, struct perf_attr *attr, struct error *err)
{
	struct perf_builder *m = mem_new(sizeof *m);
	struct perf_class *class = NULL;

	m->part = part;
	if (attr->format && attr->format->layout && attr->format->payload &&
	    attr->sample_type & SAMPLE_RAW)
		m->format = attr->format;
	m->offcpu = is_offcpu(attr);
	add_sample_items(m, attr);
	bool ok = finish_class(m, attr->name, attr->index, &class, err);
	if (ok)
		perf_flatten(class, part->swap, part->trace->arena);
	attr->sample = class;
	mem_free(m);
	return ok;
}

static bool add_side_class(struct perf_part *part, struct perf_attr *attr, uint32_t type,
			   const struct record_body *side, struct error *err)
{
	struct perf_builder *m = mem_new(sizeof *m);
	struct perf_class *class = NULL;
	uint64_t id = CLASS_SIDE + type + (side->build_id ? CLASS_BUILD_ID : 0);

	m->part = part;
	add_items(m, &m->payload, side->letters, side->members, attr->read_format);
	add_trailer(m, attr);
	bool ok = finish_class(m, side->name, id, &class, err);
	if (ok) {
		class->trailer = perf_trailer_bytes(attr);
		class->type = type;
		perf_flatten(class, part->swap, part->trace->arena);
	}
	attr->side[type][side->build_id] = class;
	mem_free(m);
	return ok;
}

static bool same_side_records(const struct perf_attr *a, const struct perf_attr *b)
{
	const uint64_t items = SAMPLE_SIDE | SAMPLE_IDENTIFIER;
	uint64_t type_a = a->flags & ATTR_SAMPLE_ID_ALL ? a->sample_type & items : 0;
	uint64_t type_b = b->flags & ATTR_SAMPLE_ID_ALL ? b->sample_type & items : 0;

	return type_a == type_b && a->read_format == b->read_format;
}

/*
 * Classes for unknown record types of newer kernels. All have one layout: the first class is built,
 * the others are copies of it.
 */
static bool add_unknown_classes(struct perf_part *part, struct perf_attr *attr, struct error *err)
{
	static const struct record_body side = {"perf_23", "*", "bytes", false};
	struct trace *trace = part->trace;

	if (!add_side_class(part, attr, PERF_KNOWN_TYPES, &side, err))
		return false;
	const struct perf_class *first = attr->side[PERF_KNOWN_TYPES][0];
	const struct event_class like = *first->class;
	trace->classes[like.index]->unlisted = true;
	for (uint32_t type = PERF_KNOWN_TYPES; type < PERF_KERNEL_TYPES; type++) {
		struct perf_class *perf = arena_copy(trace->arena, first, 1, sizeof *first);
		struct event_class *class =
			type == PERF_KNOWN_TYPES
				? trace->classes[like.index]
				: trace_add_class(trace, part->part,
						  arena_printf(trace->arena, "perf_%u", type));
		const char *name = class->name;
		uint32_t index = class->index;
		*class = like;
		class->name = name;
		class->index = perf->index = index;
		class->id = CLASS_SIDE + type;
		class->unlisted = true;
		class->priv = perf;
		perf->class = class;
		perf->type = type;
		perf->told = arena_alloc(trace->arena, sizeof(atomic_bool));
		attr->side[type][0] = attr->side[type][1] = perf;
	}
	return true;
}

static bool add_side_classes(struct perf_part *part, struct perf_attr *attr, struct error *err)
{
	for (uint32_t i = 0; i < attr->index; i++)
		if (same_side_records(part->attrs[i], attr)) {
			memcpy(attr->side, part->attrs[i]->side, sizeof attr->side);
			return true;
		}
	for (uint32_t type = 1; type < PERF_KNOWN_TYPES; type++) {
		if (type == PERF_SAMPLE)
			continue;
		if (!add_side_class(part, attr, type, &sides[type], err))
			return false;
		attr->side[type][1] = attr->side[type][0];
	}
	return add_side_class(part, attr, PERF_MMAP2, &mmap2_build_id, err) &&
	       add_unknown_classes(part, attr, err);
}

bool perf_add_classes(struct perf_part *part, struct error *err)
{
	for (size_t i = 0; i < part->nattrs; i++)
		if (!add_sample_class(part, part->attrs[i], err))
			return false;
	for (size_t i = 0; i < part->nattrs; i++)
		if (!add_side_classes(part, part->attrs[i], err))
			return false;
	return true;
}
