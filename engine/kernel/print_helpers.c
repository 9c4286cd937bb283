/*
 * print_helpers.c - the helper macros that remain in print formats: __print_flags(), __get_str()
 * ...
 */
#include "engine/base/mem.h"
#include "engine/kernel/print_parser.h"

#include <string.h>

/* ---- values of labels ---- */

/* Values of names that some kernels write in formats in place of numbers. */
static int64_t known_name(const char *name)
{
	static const struct {
		const char *name;
		int64_t value;
	} known[] = {
		{"HI_SOFTIRQ", 0},      {"TIMER_SOFTIRQ", 1},     {"NET_TX_SOFTIRQ", 2},
		{"NET_RX_SOFTIRQ", 3},  {"BLOCK_SOFTIRQ", 4},     {"IRQ_POLL_SOFTIRQ", 5},
		{"TASKLET_SOFTIRQ", 6}, {"SCHED_SOFTIRQ", 7},     {"HRTIMER_SOFTIRQ", 8},
		{"RCU_SOFTIRQ", 9},     {"HRTIMER_NORESTART", 0}, {"HRTIMER_RESTART", 1},
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(known[i].name, name))
			return known[i].value;
	return -1;
}

static bool is_constant(const struct print_node *node)
{
	switch ((enum node_kind)node->kind) {
	case NODE_NUMBER:
	case NODE_TEXT: /* an unknown name counts as 0, as in the tools */
		return true;
	case NODE_CAST:
	case NODE_INVERT:
	case NODE_NOT:
		return is_constant(node->a);
	case NODE_BINARY:
		return is_constant(node->a) && is_constant(node->b);
	default:
		return false;
	}
}

/* All negative values count as -1, as in the tools. */
static int64_t label_value(struct print_parser *p, const struct print_node *node)
{
	struct print_record none = {0};

	while (node->kind == NODE_CAST)
		node = node->a;
	if (node->kind == NODE_TEXT)
		return known_name(node->text);
	if (!is_constant(node)) {
		p->failed = true;
		return 0;
	}
	int64_t value = (int64_t)print_value(&none, node);
	return value < 0 ? -1 : value;
}

/* Mostly a string; ((void *)0) ends some lists. */
static const char *label_text(struct print_parser *p, const struct print_node *node)
{
	while (node->kind == NODE_CAST)
		node = node->a;
	if (node->text)
		return node->text;
	if (node->kind == NODE_NUMBER)
		return arena_printf(p->arena, "%lld", (long long)node->number);
	p->failed = true;
	return "";
}

/* {value, "text"}, ... up to the helper's closing parenthesis */
static void labels(struct print_parser *p, struct print_node *node)
{
	struct label *list = NULL;
	size_t count = 0, capacity = 0;

	do {
		parser_expect(p, "{");
		const struct print_node *value = parser_expression(p);
		parser_expect(p, ",");
		const struct print_node *text = parser_expression(p);
		parser_expect(p, "}");
		if (p->failed || count > PARSER_NODES_MAX)
			break;
		*mem_push(list, count, capacity) =
			(struct label){label_value(p, value), label_text(p, text)};
	} while (parser_accept(p, ","));
	parser_expect(p, ")");
	node->labels = arena_copy(p->arena, list, count, sizeof *list);
	node->nlabels = (uint32_t)count;
	mem_free(list);
}

/* ---- helpers, from behind their opening parenthesis ---- */

static const struct print_node *helper_flags(struct print_parser *p)
{
	struct print_node *node = parser_node(p, NODE_FLAGS);

	node->a = parser_expression(p);
	parser_expect(p, ",");
	node->text = parser_strings(p);
	parser_expect(p, ",");
	labels(p, node);
	return node;
}

static const struct print_node *helper_symbol(struct print_parser *p)
{
	struct print_node *node = parser_node(p, NODE_SYMBOL);

	node->a = parser_expression(p);
	parser_expect(p, ",");
	labels(p, node);
	return node;
}

static const struct print_node *helper_hex(struct print_parser *p, const char *between)
{
	struct print_node *node = parser_node(p, NODE_HEX);

	node->text = between;
	node->a = parser_expression(p);
	parser_expect(p, ",");
	node->b = parser_expression(p);
	parser_expect(p, ")");
	return node;
}

static const struct print_node *helper_numbers(struct print_parser *p, bool counted)
{
	struct print_node *node = parser_node(p, NODE_NUMBERS);

	node->a = parser_expression(p);
	parser_expect(p, ",");
	if (counted) {
		node->b = parser_expression(p);
		parser_expect(p, ",");
	}
	node->c = parser_expression(p);
	parser_expect(p, ")");
	return node;
}

static const struct print_node *helper_field(struct print_parser *p, enum node_kind kind)
{
	struct print_node *node = parser_node(p, kind);

	node->field = format_field(p->text, parser_word(p));
	if (!node->field && (kind == NODE_LOCATED || kind == NODE_LENGTH))
		p->failed = true;
	parser_expect(p, ")");
	return node;
}

static const struct print_node *divided(struct print_parser *p, enum binary op,
					const struct print_node *a, uint64_t by)
{
	struct print_node *node = parser_node(p, NODE_BINARY);

	node->op = (uint8_t)op;
	node->a = a;
	node->b = parser_number(p, by);
	return node;
}

static const struct print_node *helper_seconds(struct print_parser *p, enum binary op)
{
	const struct print_node *value = parser_expression(p);

	parser_expect(p, ")");
	return divided(p, op, value, 1000000000);
}

static const struct print_node *helper_expect(struct print_parser *p)
{
	const struct print_node *value = parser_expression(p);

	parser_expect(p, ",");
	parser_expression(p);
	parser_expect(p, ")");
	return value;
}

static uint64_t size_of_type(const struct print_parser *p, const char *type)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} sizes[] = {{"char", 1},     {"u8", 1},  {"s8", 1},  {"__u8", 1},
		     {"short", 2},    {"u16", 2}, {"s16", 2}, {"__u16", 2},
		     {"int", 4},      {"u32", 4}, {"s32", 4}, {"__u32", 4},
		     {"unsigned", 4}, {"u64", 8}, {"s64", 8}, {"__u64", 8}};

	if (strstr(type, "long long"))
		return 8;
	if (strchr(type, '*') || strstr(type, "long"))
		return p->tracing->long_bytes;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const char *bare = strncmp(type, "unsigned ", 9) ? type : type + 9;
		if (!strcmp(sizes[i].name, bare))
			return sizes[i].bytes;
	}
	return 0;
}

static const struct print_node *helper_sizeof(struct print_parser *p)
{
	uint64_t size = 0;

	if (parser_accept(p, "REC")) {
		const struct print_node *field = parser_field(p);
		size = field->kind == NODE_FIELD && !field->field->is_array ? field->field->size
									    : 0;
	} else {
		size = size_of_type(p, parser_type(p));
	}
	parser_expect(p, ")");
	if (!size)
		p->failed = true;
	return parser_number(p, size);
}

/* Prints the name in brackets, as the kernel's function does; "" for an unknown number. */
static const struct print_node *helper_hypercall(struct print_parser *p)
{
	static const struct label names[] = {
		{0, "(set_trap_table)"},
		{1, "(mmu_update)"},
		{2, "(set_gdt)"},
		{3, "(stack_switch)"},
		{4, "(set_callbacks)"},
		{5, "(fpu_taskswitch)"},
		{6, "(sched_op_compat)"},
		{7, "(dom0_op)"},
		{8, "(set_debugreg)"},
		{9, "(get_debugreg)"},
		{10, "(update_descriptor)"},
		{12, "(memory_op)"},
		{13, "(multicall)"},
		{14, "(update_va_mapping)"},
		{15, "(set_timer_op)"},
		{16, "(event_channel_op_compat)"},
		{17, "(xen_version)"},
		{18, "(console_io)"},
		{19, "(physdev_op_compat)"},
		{20, "(grant_table_op)"},
		{21, "(vm_assist)"},
		{22, "(update_va_mapping_otherdomain)"},
		{23, "(iret)"},
		{24, "(vcpu_op)"},
		{25, "(set_segment_base)"},
		{26, "(mmuext_op)"},
		{27, "(acm_op)"},
		{28, "(nmi_op)"},
		{29, "(sched_op)"},
		{30, "(callback_op)"},
		{31, "(xenoprof_op)"},
		{32, "(event_channel_op)"},
		{33, "(physdev_op)"},
		{34, "(hvm_op)"},
		{48, "(arch_0)"},
		{49, "(arch_1)"},
		{50, "(arch_2)"},
		{51, "(arch_3)"},
		{52, "(arch_4)"},
		{53, "(arch_5)"},
		{54, "(arch_6)"},
		{55, "(arch_7)"},
	};
	struct print_node *node = parser_node(p, NODE_SYMBOL);

	node->a = parser_expression(p);
	node->text = "";
	node->labels = names;
	node->nlabels = sizeof names / sizeof *names;
	parser_expect(p, ")");
	return node;
}

/* (p, bytes, length); the length is ignored, as the command's first byte gives it */
static const struct print_node *helper_scsi(struct print_parser *p)
{
	struct print_node *node = parser_node(p, NODE_SCSI);

	parser_expression(p);
	parser_expect(p, ",");
	node->a = parser_expression(p);
	parser_expect(p, ",");
	parser_expression(p);
	parser_expect(p, ")");
	return node;
}

/* An unknown function, or unknown arguments: the whole argument becomes NODE_UNKNOWN. */
static const struct print_node *helper_unknown(struct print_parser *p, const char *name)
{
	p->unknown = name;
	parser_skip(p, ")");
	parser_expect(p, ")");
	return parser_number(p, 0);
}

static const struct print_node *helper_of_one(struct print_parser *p, enum node_kind kind)
{
	struct print_node *node = parser_node(p, kind);

	node->a = parser_expression(p);
	parser_expect(p, ")");
	return node;
}

static const struct print_node *helper_same(struct print_parser *p)
{
	const struct print_node *value = parser_expression(p);

	parser_expect(p, ")");
	return value;
}

static bool one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

static const struct print_node *field_helper(struct print_parser *p, const char *name)
{
	static const char *const text[] = {"__get_str", "__get_rel_str", NULL};
	static const char *const bitmask[] = {"__get_bitmask", "__get_rel_bitmask", NULL};
	static const char *const cpumask[] = {"__get_cpumask", "__get_rel_cpumask", NULL};
	static const char *const located[] = {"__get_dynamic_array", "__get_rel_dynamic_array",
					      "__get_sockaddr",      "__get_sockaddr_rel",
					      "__get_rel_sockaddr",  NULL};
	static const char *const length[] = {"__get_dynamic_array_len",
					     "__get_rel_dynamic_array_len", NULL};

	if (one_of(name, text))
		return helper_field(p, NODE_STRING);
	if (one_of(name, bitmask))
		return helper_field(p, NODE_BITMASK);
	if (one_of(name, cpumask))
		return helper_field(p, NODE_CPUMASK);
	if (one_of(name, located))
		return helper_field(p, NODE_LOCATED);
	return one_of(name, length) ? helper_field(p, NODE_LENGTH) : NULL;
}

const struct print_node *parser_helper(struct print_parser *p, const char *name)
{
	static const char *const flags[] = {"__print_flags", "__print_flags_u64", NULL};
	static const char *const symbol[] = {"__print_symbolic", "__print_symbolic_u64", NULL};
	const struct print_node *node = field_helper(p, name);

	if (node)
		return node;
	if (one_of(name, flags))
		return helper_flags(p);
	if (one_of(name, symbol))
		return helper_symbol(p);
	if (!strcmp(name, "__print_hex"))
		return helper_hex(p, " ");
	if (!strcmp(name, "__print_hex_str"))
		return helper_hex(p, "");
	if (!strcmp(name, "__print_array"))
		return helper_numbers(p, true);
	if (!strcmp(name, "__print_dynamic_array"))
		return helper_numbers(p, false);
	if (!strcmp(name, "__print_ns_to_secs"))
		return helper_seconds(p, BINARY_DIVIDE);
	if (!strcmp(name, "__print_ns_without_secs"))
		return helper_seconds(p, BINARY_REMAINDER);
	if (!strcmp(name, "__builtin_expect"))
		return helper_expect(p);
	if (!strcmp(name, "sizeof"))
		return helper_sizeof(p);
	if (p->plugins && !strcmp(name, "jbd2_dev_to_name"))
		return helper_of_one(p, NODE_DEVICE);
	if (p->plugins && !strcmp(name, "jiffies_to_msecs"))
		return helper_same(p);
	if (!strcmp(name, "scsi_trace_parse_cdb"))
		return helper_scsi(p);
	if (!strcmp(name, "xen_hypercall_name"))
		return helper_hypercall(p);
	if (!strcmp(name, "__le16_to_cpup"))
		return helper_of_one(p, NODE_LE16);
	return helper_unknown(p, name);
}
