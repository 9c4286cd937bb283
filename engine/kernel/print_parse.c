/*
 * print_parse.c - behind "print fmt:": a string, then arguments that are C expressions
 *
 *     expression: binary [? expression : expression]      binary: by precedence, from unary
 *     unary: [- + ~ !] unary | (type) unary | primary {[ expression ]}
 *     primary: number | name | strings | REC->field | helper(...) | ( expression )
 *
 * The kernel expands its macros before it writes the text, so casts and helpers are all there is.
 * The text comes from the trace: depth and number of nodes are bounded, and what does not read so
 * makes the whole format one that cannot be printed.
 */
#include "engine/base/mem.h"
#include "engine/kernel/print.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 120, NODES_MAX = 20000, TALL_MAX = 2000, LOOKUPS_MAX = 64, ARGS_MAX = 256 };

enum token { TOKEN_END, TOKEN_WORD, TOKEN_TEXT, TOKEN_SIGN };

struct parser {
	const struct tracing *tracing;
	const struct tracing_text *text;
	struct arena *arena;
	const char *at; /* behind the token */
	const char *token;
	size_t len;
	enum token kind;
	unsigned depth, nodes;
	unsigned tall;    /* nodes that stack up without depth: a + b + c, a[b][c] */
	unsigned lookups; /* in the table of symbols */
	bool plugins;     /* helpers that trace-cmd's plugins know */
	bool failed;
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t sign_length(const char *at)
{
	static const char *const longer[] = {
		"->", "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "++", "--"};

	for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
		if (at[0] == longer[i][0] && at[1] == longer[i][1])
			return 2;
	return 1;
}

static void next(struct parser *p)
{
	const char *at = p->at;

	while (is_space(*at))
		at++;
	p->token = at;
	if (!*at) {
		p->kind = TOKEN_END;
	} else if (is_word(*at)) {
		p->kind = TOKEN_WORD;
		while (is_word(*at))
			at++;
	} else if (*at == '"' || *at == '\'') {
		char quote = *at++;
		p->kind = TOKEN_TEXT;
		p->token = at;
		while (*at && *at != quote)
			at += at[0] == '\\' && at[1] ? 2 : 1;
		p->failed = p->failed || !*at;
		p->len = (size_t)(at - p->token);
		p->at = *at ? at + 1 : at;
		return;
	} else {
		p->kind = TOKEN_SIGN;
		at += sign_length(at);
	}
	p->len = (size_t)(at - p->token);
	p->at = at;
}

static bool is_token(const struct parser *p, const char *text)
{
	return (p->kind == TOKEN_SIGN || p->kind == TOKEN_WORD) && strlen(text) == p->len &&
	       !memcmp(p->token, text, p->len);
}

static bool accept(struct parser *p, const char *text)
{
	if (p->failed || !is_token(p, text))
		return false;
	next(p);
	return true;
}

static void expect(struct parser *p, const char *text)
{
	if (!accept(p, text))
		p->failed = true;
}

static struct node *new_node(struct parser *p, enum node_kind kind)
{
	struct node *node = arena_alloc(p->arena, sizeof *node);

	node->kind = (uint8_t)kind;
	p->tall += kind == NODE_BINARY || kind == NODE_INDEX;
	if (++p->nodes > NODES_MAX || p->tall > TALL_MAX)
		p->failed = true;
	return node;
}

static const struct node *number(struct parser *p, uint64_t value)
{
	struct node *node = new_node(p, NODE_NUMBER);

	node->number = value;
	return node;
}

static const struct node *expression(struct parser *p);
static const struct node *unary(struct parser *p);

/* Strings in a row are one. */
static const char *strings(struct parser *p)
{
	struct buf joined = {0};

	while (p->kind == TOKEN_TEXT && !p->failed) {
		buf_add(&joined, p->token, p->len);
		next(p);
	}
	const char *text = arena_strdup(p->arena, buf_text(&joined));
	buf_release(&joined);
	return text;
}

static const char *word(struct parser *p)
{
	if (p->kind != TOKEN_WORD) {
		p->failed = true;
		return "";
	}
	const char *text = arena_strndup(p->arena, p->token, p->len);
	next(p);
	return text;
}

static const struct node *field_reference(struct parser *p)
{
	struct node *node = new_node(p, NODE_FIELD);

	expect(p, "->");
	node->field = format_field(p->text, word(p));
	return node->field ? node : number(p, 0);
}

/* ---- values that labels have ---- */

/* Names that some kernels leave in their formats instead of numbers. */
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

/* Of a constant expression; negative ones are all -1, as the tools have it. */
static int64_t label_value(struct parser *p, const struct node *node)
{
	while (node->kind == NODE_CAST)
		node = node->a;
	if (node->kind == NODE_TEXT)
		return known_name(node->text);
	if (node->kind != NODE_NUMBER) {
		p->failed = true;
		return 0;
	}
	return (int64_t)node->number < 0 ? -1 : (int64_t)node->number;
}

/* {value, "text"}, ... up to the helper's closing parenthesis */
static void labels(struct parser *p, struct node *node)
{
	struct label *list = NULL;
	size_t count = 0, capacity = 0;

	do {
		expect(p, "{");
		const struct node *value = expression(p);
		expect(p, ",");
		const char *text = p->kind == TOKEN_TEXT ? strings(p) : word(p);
		expect(p, "}");
		if (p->failed || count > NODES_MAX)
			break;
		list = mem_grow(list, count, &capacity, sizeof *list);
		list[count++] = (struct label){label_value(p, value), text};
	} while (accept(p, ","));
	expect(p, ")");
	struct label *kept = arena_array(p->arena, count + 1, sizeof *kept);
	if (count)
		memcpy(kept, list, count * sizeof *kept);
	mem_free(list);
	node->labels = kept;
	node->nlabels = (uint32_t)count;
}

/* ---- helpers, from behind their opening parenthesis ---- */

static const struct node *helper_flags(struct parser *p)
{
	struct node *node = new_node(p, NODE_FLAGS);

	node->a = expression(p);
	expect(p, ",");
	node->text = strings(p);
	expect(p, ",");
	labels(p, node);
	return node;
}

static const struct node *helper_symbol(struct parser *p)
{
	struct node *node = new_node(p, NODE_SYMBOL);

	node->a = expression(p);
	expect(p, ",");
	labels(p, node);
	return node;
}

static const struct node *helper_hex(struct parser *p, const char *between)
{
	struct node *node = new_node(p, NODE_HEX);

	node->text = between;
	node->a = expression(p);
	expect(p, ",");
	node->b = expression(p);
	expect(p, ")");
	return node;
}

static const struct node *helper_numbers(struct parser *p, bool counted)
{
	struct node *node = new_node(p, NODE_NUMBERS);

	node->a = expression(p);
	expect(p, ",");
	if (counted) {
		node->b = expression(p);
		expect(p, ",");
	}
	node->c = expression(p);
	expect(p, ")");
	return node;
}

static const struct node *helper_field(struct parser *p, enum node_kind kind)
{
	struct node *node = new_node(p, kind);

	node->field = format_field(p->text, word(p));
	if (!node->field && (kind == NODE_LOCATED || kind == NODE_LENGTH))
		p->failed = true;
	expect(p, ")");
	return node;
}

static const struct node *divided(struct parser *p, enum binary op, const struct node *a,
				  uint64_t by)
{
	struct node *node = new_node(p, NODE_BINARY);

	node->op = (uint8_t)op;
	node->a = a;
	node->b = number(p, by);
	return node;
}

static const struct node *helper_seconds(struct parser *p, enum binary op)
{
	const struct node *value = expression(p);

	expect(p, ")");
	return divided(p, op, value, 1000000000);
}

static const struct node *helper_expect(struct parser *p)
{
	const struct node *value = expression(p);

	expect(p, ",");
	expression(p);
	expect(p, ")");
	return value;
}

static uint64_t size_of_type(const struct parser *p, const char *type)
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

/* Words and stars up to a closing parenthesis, which is left; "" when something else comes. */
static const char *type_name(struct parser *p)
{
	struct buf name = {0};

	while (p->kind == TOKEN_WORD || is_token(p, "*")) {
		if (name.len)
			buf_add_char(&name, ' ');
		buf_add(&name, p->token, p->len);
		next(p);
	}
	const char *text = is_token(p, ")") ? arena_strdup(p->arena, buf_text(&name)) : "";
	buf_release(&name);
	return text;
}

static const struct node *helper_sizeof(struct parser *p)
{
	uint64_t size = 0;

	if (accept(p, "REC")) {
		const struct node *field = field_reference(p);
		size = field->kind == NODE_FIELD && !field->field->is_array ? field->field->size
									    : 0;
	} else {
		size = size_of_type(p, type_name(p));
	}
	expect(p, ")");
	if (!size)
		p->failed = true;
	return number(p, size);
}

static const struct node *helper_device(struct parser *p)
{
	struct node *node = new_node(p, NODE_DEVICE);

	node->a = expression(p);
	expect(p, ")");
	return node;
}

static const struct node *helper_same(struct parser *p)
{
	const struct node *value = expression(p);

	expect(p, ")");
	return value;
}

static bool one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

static const struct node *field_helper(struct parser *p, const char *name)
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

static const struct node *helper(struct parser *p, const char *name)
{
	static const char *const flags[] = {"__print_flags", "__print_flags_u64", NULL};
	static const char *const symbol[] = {"__print_symbolic", "__print_symbolic_u64", NULL};
	const struct node *node = field_helper(p, name);

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
		return helper_device(p);
	if (p->plugins && !strcmp(name, "jiffies_to_msecs"))
		return helper_same(p);
	p->failed = true;
	return number(p, 0);
}

/* ---- casts ---- */

static uint64_t type_mask(const char *type)
{
	static const struct {
		const char *name;
		uint64_t mask;
	} masks[] = {{"u8", 0xff},        {"s8", 0xff},        {"char", 0xff},
		     {"u16", 0xffff},     {"s16", 0xffff},     {"short", 0xffff},
		     {"u32", UINT32_MAX}, {"s32", UINT32_MAX}, {"int", UINT32_MAX}};

	if (!strncmp(type, "unsigned ", 9))
		type += 9;
	for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
		if (!strcmp(masks[i].name, type))
			return masks[i].mask;
	return UINT64_MAX;
}

static bool is_type_word(const struct parser *p)
{
	static const char *const words[] = {
		"unsigned", "signed", "int",    "long", "char",  "short", "void", "const",
		"bool",     "struct", "u8",     "u16",  "u32",   "u64",   "s8",   "s16",
		"s32",      "s64",    "size_t", "__u8", "__u16", "__u32", "__u64"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (is_token(p, words[i]))
			return true;
	return false;
}

/* A type in parentheses comes next: takes it, and what follows it. NULL: something else, untouched.
 */
static const struct node *cast(struct parser *p)
{
	struct parser saved = *p;
	bool known = is_type_word(p);
	const char *type = p->kind == TOKEN_WORD && !is_token(p, "REC") ? type_name(p) : "";
	size_t len = strlen(type);

	if (!len || !accept(p, ")") ||
	    (!known && p->kind != TOKEN_WORD && p->kind != TOKEN_TEXT && !is_token(p, "("))) {
		*p = saved;
		return NULL;
	}
	struct node *node = new_node(p, NODE_CAST);
	node->number = type_mask(type);
	if (type[len - 1] == '*') {
		node->number = UINT64_MAX;
		node->pointed = UINT64_MAX;
		if (len > 2)
			node->pointed = type_mask(arena_strndup(p->arena, type, len - 2));
	}
	node->a = unary(p);
	if (node->a->kind == NODE_NUMBER)
		return number(p, node->a->number & node->number);
	return node;
}

static const struct node *parenthesis(struct parser *p)
{
	const struct node *node = cast(p);

	if (node)
		return node;
	struct parser saved = *p;
	if (accept(p, "REC") && accept(p, ")"))
		return field_reference(p);
	*p = saved;
	node = expression(p);
	expect(p, ")");
	return node;
}

/* A name that is no field is a kernel symbol's, or 0; as text it is itself. */
static const struct node *name_or_number(struct parser *p)
{
	const char *text = word(p), *more;
	struct node *node = new_node(p, NODE_NUMBER);

	node->text = text;
	if (text[0] >= '0' && text[0] <= '9') {
		node->number = strtoull(text, NULL, 0);
		return node;
	}
	node->kind = NODE_TEXT;
	while (p->kind == TOKEN_WORD && !p->failed) { /* several words are one atom */
		more = word(p);
		node->text = arena_printf(p->arena, "%s %s", node->text, more);
		p->failed = p->failed || strlen(node->text) > 1000;
	}
	if (p->lookups++ >= LOOKUPS_MAX)
		return node;
	for (size_t i = 0; i < p->tracing->nsymbols && !node->number; i++)
		if (!strcmp(p->tracing->symbols[i].name, node->text))
			node->number = p->tracing->symbols[i].address;
	return node;
}

static const struct node *primary(struct parser *p)
{
	if (accept(p, "("))
		return parenthesis(p);
	if (accept(p, "REC"))
		return field_reference(p);
	if (p->kind == TOKEN_TEXT) {
		struct node *node = new_node(p, NODE_TEXT);
		node->text = strings(p);
		node->number = strtoull(node->text, NULL, 0);
		return node;
	}
	if (p->kind == TOKEN_WORD) {
		struct parser saved = *p;
		const char *name = word(p);
		if (accept(p, "("))
			return helper(p, name);
		*p = saved;
		return name_or_number(p);
	}
	p->failed = true;
	return number(p, 0);
}

static const struct node *postfix(struct parser *p)
{
	const struct node *node = primary(p);

	while (accept(p, "[")) {
		struct node *item = new_node(p, NODE_INDEX);
		item->a = node;
		item->b = expression(p);
		expect(p, "]");
		node = item;
	}
	return node;
}

static const struct node *operated(struct parser *p, enum node_kind kind)
{
	struct node *node = new_node(p, kind);

	node->a = unary(p);
	if (node->a->kind == NODE_NUMBER)
		return number(p, kind == NODE_INVERT ? ~node->a->number : !node->a->number);
	return node;
}

static uint64_t compute(enum binary op, uint64_t a, uint64_t b)
{
	struct record none = {0};
	struct node left = {.kind = NODE_NUMBER, .number = a};
	struct node right = {.kind = NODE_NUMBER, .number = b};
	struct node node = {.kind = NODE_BINARY, .op = (uint8_t)op, .a = &left, .b = &right};

	return print_value(&none, &node);
}

static const struct node *binary_node(struct parser *p, enum binary op, const struct node *a,
				      const struct node *b)
{
	if (a->kind == NODE_NUMBER && b->kind == NODE_NUMBER)
		return number(p, compute(op, a->number, b->number));
	struct node *node = new_node(p, NODE_BINARY);
	node->op = (uint8_t)op;
	node->a = a;
	node->b = b;
	return node;
}

static const struct node *unary_inner(struct parser *p)
{
	if (accept(p, "~"))
		return operated(p, NODE_INVERT);
	if (accept(p, "!"))
		return operated(p, NODE_NOT);
	if (accept(p, "+"))
		return unary(p);
	if (accept(p, "-"))
		return binary_node(p, BINARY_SUBTRACT, number(p, 0), unary(p));
	return postfix(p);
}

static const struct node *unary(struct parser *p)
{
	if (p->failed || p->depth >= DEPTH_MAX) {
		p->failed = true;
		return number(p, 0);
	}
	p->depth++;
	const struct node *node = unary_inner(p);
	p->depth--;
	return node;
}

static bool binary_sign(const struct parser *p, enum binary *op, int *rank)
{
	static const struct {
		const char *sign;
		enum binary op;
		int rank; /* higher binds tighter */
	} signs[] = {
		{"||", BINARY_OR_ELSE, 1},
		{"&&", BINARY_AND_THEN, 2},
		{"|", BINARY_OR, 3},
		{"^", BINARY_XOR, 4},
		{"&", BINARY_AND, 5},
		{"==", BINARY_EQUAL, 6},
		{"!=", BINARY_UNEQUAL, 6},
		{"<", BINARY_LESS, 7},
		{">", BINARY_GREATER, 7},
		{"<=", BINARY_LESS_EQUAL, 7},
		{">=", BINARY_GREATER_EQUAL, 7},
		{"<<", BINARY_LEFT, 8},
		{">>", BINARY_RIGHT, 8},
		{"+", BINARY_ADD, 9},
		{"-", BINARY_SUBTRACT, 9},
		{"*", BINARY_MULTIPLY, 10},
		{"/", BINARY_DIVIDE, 10},
		{"%", BINARY_REMAINDER, 10},
	};

	if (p->kind != TOKEN_SIGN || p->failed)
		return false;
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (is_token(p, signs[i].sign)) {
			*op = signs[i].op;
			*rank = signs[i].rank;
			return true;
		}
	return false;
}

/* Recursion is bounded by the number of ranks here, by unary() below it. */
static const struct node *binary(struct parser *p, int least)
{
	const struct node *node = unary(p);
	enum binary op;
	int rank;

	while (binary_sign(p, &op, &rank) && rank >= least) {
		next(p);
		node = binary_node(p, op, node, binary(p, rank + 1));
	}
	return node;
}

static const struct node *expression(struct parser *p)
{
	if (p->depth >= DEPTH_MAX) {
		p->failed = true;
		return number(p, 0);
	}
	p->depth++;
	const struct node *condition = binary(p, 0);
	p->depth--;
	if (!accept(p, "?"))
		return condition;
	struct node *node = new_node(p, NODE_CHOICE);
	node->a = condition;
	p->depth++;
	node->b = expression(p);
	expect(p, ":");
	node->c = expression(p);
	p->depth--;
	return node;
}

/* ftrace's own events once had no arguments: their fields are, in order. */
static void fields_as_args(struct parser *p, const struct node **args, uint32_t *count)
{
	for (uint32_t i = p->text->ncommon; i < p->text->nfields && *count < ARGS_MAX; i++) {
		struct node *node = new_node(p, NODE_FIELD);
		node->field = &p->text->fields[i];
		args[(*count)++] = node;
	}
}

bool print_parse(const struct tracing *tracing, const struct tracing_text *text, bool plugins,
		 struct arena *arena, struct print_args *out)
{
	struct parser p = {.tracing = tracing,
			   .text = text,
			   .arena = arena,
			   .at = text->print,
			   .plugins = plugins};

	*out = (struct print_args){0};
	next(&p);
	if (p.kind != TOKEN_TEXT)
		return false;
	out->format = strings(&p);
	out->args = arena_array(arena, ARGS_MAX, sizeof(struct node *));
	if (p.kind != TOKEN_END && !is_token(&p, ","))
		return false;
	while (accept(&p, ",") && out->count < ARGS_MAX)
		out->args[out->count++] = expression(&p);
	if (!out->count && text->is_ftrace)
		fields_as_args(&p, out->args, &out->count);
	return !p.failed;
}
