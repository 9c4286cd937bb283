/*
 * plugins.c - texts of events that trace-cmd prints by libtraceevent's plugins
 *
 *     sched_switch          comm:pid [prio] STATE ==> comm:pid [prio], STATE as print fmt has it
 *     sched_wakeup, _new    comm:pid [prio] CPU:nnn
 *     function              symbol     (without trace-cmd's indentation by the CPU's earlier calls)
 *     kernel_stack          <stack trace > and a line per caller
 *     raw_data              # id bytes
 *     kmem:kfree and alike  (symbol+offset) and then the print format
 *     hrtimer_start, hrtimer_expire_entry, tlb_flush, sys_enter_futex
 *
 * If a format lacks a field that the plugin needs, its print format is used. So it is for
 * func_repeats, whose plugin prints times that the record does not have, and for events of kvm and
 * mac80211. print_helpers.c has the plugins' functions in print formats.
 */
#include "engine/kernel/print.h"

#include <string.h>

enum { USED_MAX = 8 };

static const struct {
	const char *system, *name;
	enum plugin plugin;
	const char *needs[USED_MAX]; /* fields, in the order of `used`; "?" in front: optional */
} plugins[] = {
	{"sched",
	 "sched_switch",
	 PLUGIN_SWITCH,
	 {"prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid",
	  "next_prio"}},
	{"sched",
	 "sched_wakeup",
	 PLUGIN_WAKEUP,
	 {"comm", "pid", "prio", "?success", "?target_cpu"}},
	{"sched",
	 "sched_wakeup_new",
	 PLUGIN_WAKEUP,
	 {"comm", "pid", "prio", "?success", "?target_cpu"}},
	{"ftrace", "function", PLUGIN_FUNCTION, {"ip", "parent_ip"}},
	{"ftrace", "kernel_stack", PLUGIN_KERNEL_STACK, {"caller"}},
	{"ftrace", "raw_data", PLUGIN_RAW_DATA, {"id", "buf"}},
	{"kmem", "kfree", PLUGIN_KMEM, {"call_site"}},
	{"kmem", "kmalloc", PLUGIN_KMEM, {"call_site"}},
	{"kmem", "kmalloc_node", PLUGIN_KMEM, {"call_site"}},
	{"kmem", "kmem_cache_alloc", PLUGIN_KMEM, {"call_site"}},
	{"kmem", "kmem_cache_alloc_node", PLUGIN_KMEM, {"call_site"}},
	{"kmem", "kmem_cache_free", PLUGIN_KMEM, {"call_site"}},
	{"timer", "hrtimer_expire_entry", PLUGIN_HRTIMER_EXPIRE, {"hrtimer", "now", "?function"}},
	{"timer",
	 "hrtimer_start",
	 PLUGIN_HRTIMER_START,
	 {"hrtimer", "expires", "softexpires", "?function"}},
	{"tlb", "tlb_flush", PLUGIN_TLB_FLUSH, {"pages", "reason"}},
	{"syscalls",
	 "sys_enter_futex",
	 PLUGIN_FUTEX,
	 {"uaddr", "op", "val", "utime", "uaddr2", "val3"}},
};

static bool use_fields(struct tracing_text *text, const char *const *needs)
{
	for (int i = 0; i < USED_MAX && needs[i]; i++) {
		bool optional = needs[i][0] == '?';
		text->used[i] = format_field(text, needs[i] + optional);
		if (!text->used[i] && !optional)
			return false;
	}
	return true;
}

void plugin_choose(struct tracing_format *format)
{
	for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++)
		if (!strcmp(plugins[i].system, format->system) &&
		    !strcmp(plugins[i].name, format->name) &&
		    use_fields(format->text, plugins[i].needs)) {
			format->text->plugin = plugins[i].plugin;
			return;
		}
}

static const struct print_spec plain = {
	.conversion = 'd', .longs = 2, .width = -1, .precision = -1};

static void append(struct buf *out, const char *text)
{
	buf_add(out, text, strlen(text));
}

static void plugins_add_number(struct buf *out, uint64_t value)
{
	print_decimal(out, (int64_t)value < 0, value);
}

static void add_hex(struct buf *out, const char *before, uint64_t value, int digits)
{
	const struct print_spec spec = {
		.conversion = 'x', .longs = 2, .zero = true, .width = digits, .precision = -1};

	append(out, before);
	print_number(out, &spec, value);
}

static void add_field_text(const struct print_record *record, const struct kernel_field *field,
			   struct buf *out)
{
	size_t at = field->offset, len = field->size;

	if (at > record->size || len > record->size - at)
		return;
	const char *text = (const char *)record->data + at;
	const char *zero = memchr(text, 0, len);
	print_text(out, &plain, text, zero ? (size_t)(zero - text) : len);
}

/* "comm:pid" */
static void add_task(const struct print_record *record, const struct kernel_field *const *comm_pid,
		     struct buf *out)
{
	add_field_text(record, comm_pid[0], out);
	buf_add_char(out, ':');
	plugins_add_number(out, print_field(record, comm_pid[1]));
}

/* Prints the state by the letters of Linux 4.14 and later, if print fmt does not have it. */
static void add_state(const struct print_record *record, const struct kernel_field *field,
		      struct buf *out)
{
	static const char states[] = "SDTtXZPI";
	uint64_t state = print_field(record, field);
	bool more = false;

	for (size_t i = 0; i < sizeof states - 1; i++) {
		if (!(state >> i & 1))
			continue;
		append(out, more ? "|" : "");
		buf_add_char(out, states[i]);
		more = true;
	}
	append(out, more ? "" : "R");
}

static void switch_text(const struct print_record *record, const struct kernel_field *const *used,
			const struct print_program *program, struct buf *out)
{
	add_task(record, used, out);
	append(out, " [");
	plugins_add_number(out, (uint64_t)(int64_t)(int32_t)print_field(record, used[2]));
	append(out, "] ");
	if (program->state)
		print_prepared(program, program->state, record, out);
	else
		add_state(record, used[3], out);
	append(out, " ==> ");
	add_task(record, used + 4, out);
	append(out, " [");
	plugins_add_number(out, (uint64_t)(int64_t)(int32_t)print_field(record, used[6]));
	buf_add_char(out, ']');
}

static void wakeup_text(const struct print_record *record, const struct kernel_field *const *used,
			struct buf *out)
{
	const struct print_spec cpu = {
		.conversion = 'u', .longs = 2, .zero = true, .width = 3, .precision = -1};

	add_task(record, used, out);
	append(out, " [");
	plugins_add_number(out, print_field(record, used[2]));
	buf_add_char(out, ']');
	if (used[3]) {
		append(out, " success=");
		plugins_add_number(out, print_field(record, used[3]));
	}
	if (used[4]) {
		append(out, " CPU:");
		print_number(out, &cpu, print_field(record, used[4]));
	}
}

static void add_function(const struct print_record *record, uint64_t address, struct buf *out)
{
	uint64_t start;
	const char *name = tracing_symbol(record->tracing, address, &start);

	if (name)
		append(out, name);
	else
		add_hex(out, "0x", address, -1);
}

static void stack_text(const struct print_record *record, const struct kernel_field *caller,
		       struct buf *out)
{
	uint32_t bytes = record->tracing->long_bytes;
	uint64_t start;

	append(out, "<stack trace >\n");
	for (size_t at = caller->offset; at + bytes <= record->size; at += bytes) {
		uint64_t address = print_load(record, at, bytes);
		const char *name = tracing_symbol(record->tracing, address, &start);
		if ((uint32_t)address == UINT32_MAX) /* -1, in a long of either size */
			break;
		append(out, "=> ");
		if (name)
			append(out, name);
		add_hex(out, name ? " (" : "", address, -1);
		append(out, name ? ")\n" : "\n");
	}
}

static void raw_data_text(const struct print_record *record, const struct kernel_field *const *used,
			  struct buf *out)
{
	add_hex(out, "# ", print_field(record, used[0]), -1);
	for (size_t at = used[1]->offset; at < record->size; at++)
		add_hex(out, " ", record->data[at], 2);
}

static void kmem_prefix(const struct print_record *record, const struct kernel_field *site,
			struct buf *out)
{
	uint64_t address = print_field(record, site), start;
	const char *name = tracing_symbol(record->tracing, address, &start);

	if (!name)
		return;
	buf_add_char(out, '(');
	append(out, name);
	add_hex(out, "+0x", (uint32_t)(address - start), -1);
	append(out, ") ");
}

static void add_timer_function(const struct print_record *record,
			       const struct kernel_field *function, struct buf *out)
{
	uint64_t start, address;

	if (!function)
		return;
	address = print_field(record, function);
	const char *name = tracing_symbol(record->tracing, address, &start);
	append(out, " function=");
	append(out, name ? name : "");
	add_hex(out, name ? "/0x" : "0x", name ? start - address : address, name ? -1 : 8);
}

static void hrtimer_text(const struct print_record *record, const struct tracing_text *text,
			 struct buf *out)
{
	const struct kernel_field *const *used = text->used;

	add_hex(out, "hrtimer=0x", print_field(record, used[0]), -1);
	if (text->plugin == PLUGIN_HRTIMER_EXPIRE) {
		append(out, " now=");
		print_decimal(out, false, print_field(record, used[1]));
		add_timer_function(record, used[2], out);
		return;
	}
	add_timer_function(record, used[3], out);
	append(out, " expires=");
	print_decimal(out, false, print_field(record, used[1]));
	append(out, " softexpires=");
	print_decimal(out, false, print_field(record, used[2]));
}

static void tlb_text(const struct print_record *record, const struct kernel_field *const *used,
		     struct buf *out)
{
	static const char *const reasons[] = {"flush on task switch", "remote shootdown",
					      "local shootdown", "local mm shootdown"};
	uint64_t reason = print_field(record, used[1]);

	append(out, "pages=");
	plugins_add_number(out, print_field(record, used[0]));
	append(out, " reason=");
	append(out, reason < sizeof reasons / sizeof *reasons ? reasons[reason] : "");
	append(out, " (");
	plugins_add_number(out, reason);
	buf_add_char(out, ')');
}

/* How to print the arguments of each command: x in hex, d decimal, - not at all. */
static const struct {
	const char *name;
	char val, utime, uaddr2, val3;
} futex_commands[] = {
	{"FUTEX_WAIT", 'x', 'x', '-', '-'},
	{"FUTEX_WAKE", 'd', '-', '-', '-'},
	{"FUTEX_FD", 'd', '-', '-', '-'},
	{"FUTEX_REQUEUE", 'd', 'd', 'x', '-'},
	{"FUTEX_CMP_REQUEUE", 'd', 'd', 'x', 'x'},
	{"FUTEX_WAKE_OP", 'd', 'd', 'x', 'x'},
	{"FUTEX_LOCK_PI", '-', 'x', '-', '-'},
	{"FUTEX_UNLOCK_PI", '-', '-', '-', '-'},
	{"FUTEX_TRYLOCK_PI", '-', '-', '-', '-'},
	{"FUTEX_WAIT_BITSET", 'x', 'x', '-', 'x'},
	{"FUTEX_WAKE_BITSET", 'd', '-', '-', 'x'},
	{"FUTEX_WAIT_REQUEUE_PI", 'x', 'x', 'x', 'x'},
	{"FUTEX_CMP_REQUEUE_PI", 'd', 'd', 'x', 'x'},
};

static void add_argument(struct buf *out, const char *name, char how, uint64_t value)
{
	if (how == '-')
		return;
	buf_add_char(out, ' ');
	append(out, name);
	if (how == 'x')
		add_hex(out, "=0x", value, 8);
	else
		buf_add_char(out, '=');
	if (how == 'd')
		print_decimal(out, false, value);
}

/* False: the plugin does not know the command. */
static bool futex_text(const struct print_record *record, const struct kernel_field *const *used,
		       struct buf *out)
{
	uint64_t op = print_field(record, used[1]), command = op & ~UINT64_C(0x180);

	if (command >= sizeof futex_commands / sizeof *futex_commands)
		return false;
	append(out, "op=");
	append(out, futex_commands[command].name);
	append(out, op & 0x80 ? "|FUTEX_PRIVATE_FLAG" : "");
	append(out, op & 0x100 ? "|FUTEX_CLOCK_REALTIME" : "");
	add_argument(out, "uaddr", 'x', print_field(record, used[0]));
	add_argument(out, "val", futex_commands[command].val, print_field(record, used[2]));
	/* this argument is a time, or, in some commands, a second value */
	add_argument(out, futex_commands[command].utime == 'd' ? "val2" : "utime",
		     futex_commands[command].utime, print_field(record, used[3]));
	add_argument(out, "uaddr2", futex_commands[command].uaddr2, print_field(record, used[4]));
	add_argument(out, "val3", futex_commands[command].val3, print_field(record, used[5]));
	return true;
}

bool plugin_text(const struct print_record *record, const struct tracing_text *text,
		 const struct print_program *program, struct buf *out)
{
	const struct kernel_field *const *used = text->used;

	switch (text->plugin) {
	case PLUGIN_NONE:
		return false;
	case PLUGIN_SWITCH:
		switch_text(record, used, program, out);
		return true;
	case PLUGIN_WAKEUP:
		wakeup_text(record, used, out);
		return true;
	case PLUGIN_FUNCTION:
		add_function(record, print_field(record, used[0]), out);
		return true;
	case PLUGIN_KERNEL_STACK:
		stack_text(record, used[0], out);
		return true;
	case PLUGIN_RAW_DATA:
		raw_data_text(record, used, out);
		return true;
	case PLUGIN_KMEM:
		kmem_prefix(record, used[0], out);
		return false;
	case PLUGIN_HRTIMER_EXPIRE:
	case PLUGIN_HRTIMER_START:
		hrtimer_text(record, text, out);
		return true;
	case PLUGIN_TLB_FLUSH:
		tlb_text(record, used, out);
		return true;
	case PLUGIN_FUTEX:
		return futex_text(record, used, out);
	}
	return false;
}
