/* print_compile.c - compiles a print format to pieces, with special kinds for common conversions */
#include "engine/base/mem.h"
#include "engine/kernel/print.h"

#include <string.h>

struct print_compiler {
	const struct print_args *args;
	struct print_program *program;
	struct arena *arena;
	uint32_t used; /* arguments consumed so far */
};

static struct print_piece *add_piece(struct print_compiler *c, enum piece_kind kind)
{
	struct print_program *program = c->program;

	program->pieces = arena_grow(c->arena, program->pieces, program->count, &program->capacity,
				     sizeof *program->pieces);
	struct print_piece *piece = &program->pieces[program->count++];
	*piece = (struct print_piece){.kind = (uint8_t)kind};
	return piece;
}

static void add_literal(struct print_compiler *c, const char *text, size_t len)
{
	if (!len)
		return;
	struct print_piece *piece = add_piece(c, PIECE_LITERAL);
	piece->text = arena_strndup(c->arena, text, len);
	piece->len = (uint32_t)strlen(piece->text);
}

/* Adds the text up to the next conversion as a literal, with escapes resolved. */
static const char *literal(struct print_compiler *c, const char *at)
{
	struct buf text = {0};

	for (; *at && (at[0] != '%' || at[1] == '%'); at++) {
		char character = *at;
		if (*at == '%') {
			at++;
		} else if (*at == '\\') {
			if (!*++at)
				break;
			character = *at == 'n' ? '\n' : *at == 't' ? '\t' : *at == 'r' ? '\r' : *at;
		}
		buf_add_char(&text, character);
	}
	add_literal(c, buf_text(&text), text.len);
	buf_release(&text);
	return at;
}

static int digits(const char **at)
{
	const char *begin = *at;
	uint64_t value = decimal_take(at, NULL);

	return *at == begin ? -1 : value < 4096 ? (int)value : 4096;
}

static void read_flags(const char **at, struct print_spec *spec)
{
	for (;; ++*at) {
		switch (**at) {
		case '-':
			spec->left = true;
			break;
		case '0':
			spec->zero = true;
			break;
		case '#':
			spec->alternate = true;
			break;
		case '+':
			spec->plus = true;
			break;
		case ' ':
			spec->space = true;
			break;
		default:
			return;
		}
	}
}

static int read_longs(const char **at)
{
	int longs = 0;

	for (;; ++*at) {
		switch (**at) {
		case 'h':
			longs--;
			break;
		case 'l':
			longs++;
			break;
		case 'L':
		case 'j':
		case 'q':
			longs = 2;
			break;
		case 'z':
		case 'Z':
		case 't':
			longs = 1;
			break;
		default:
			return longs < -3 ? -3 : longs > 3 ? 3 : longs;
		}
	}
}

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

/* Returns how many letters behind %p belong to it. */
static size_t print_extension(const char *letters)
{
	const char *at = letters + 1;

	switch (letters[0]) {
	case 'F':
	case 'f':
	case 'S':
	case 's':
		return 1;
	case 'M':
	case 'm':
		return letters[1] == 'R' || letters[1] == 'F' ? 2 : 1;
	case 'U':
		return is_one_of(letters[1], "LlBb") ? 2 : 1;
	case 'h':
		return is_one_of(letters[1], "CDN") ? 2 : 1;
	case 'b':
		return letters[1] == 'l' ? 2 : 1;
	case 'I':
	case 'i':
		break;
	default:
		return 0;
	}
	if (*at == '4')
		return is_one_of(at[1], "hnbl") ? 3 : 2;
	if (*at == '6')
		return at[1] == 'c' ? 3 : 2;
	if (*at != 'S')
		return 1;
	for (at++; is_one_of(*at, "pfsc"); at++)
		;
	at += is_one_of(*at, "hnbl");
	at += *at == 'c';
	return (size_t)(at - letters);
}

bool print_conversion(const char **at, struct print_piece *out, bool *star_width,
		      bool *star_precision)
{
	const char *p = *at + 1;

	*out = (struct print_piece){.spec = {.width = -1, .precision = -1}};
	read_flags(&p, &out->spec);
	*star_width = *p == '*';
	if (*star_width)
		p++;
	else
		out->spec.width = digits(&p);
	*star_precision = false;
	if (*p == '.') {
		p++;
		*star_precision = *p == '*';
		if (*star_precision)
			p++;
		else if ((out->spec.precision = digits(&p)) < 0)
			out->spec.precision = 0;
	}
	out->spec.longs = (int8_t)read_longs(&p);
	out->spec.conversion = *p == 'i' ? 'd' : *p;
	*at = *p ? p + 1 : p;
	if (!*p || !strchr("diuxXocsp", *p) || out->spec.longs > 2 || out->spec.longs < -2)
		return false;
	out->kind = *p == 's' ? PIECE_STRING : *p == 'p' ? PIECE_POINTER : PIECE_NUMBER;
	if (*p == 'p') {
		out->text = p + 1;
		out->len = (uint32_t)print_extension(p + 1);
		*at += out->len;
	}
	return true;
}

static const struct print_node *next_arg(struct print_compiler *c)
{
	if (c->used == c->args->count) {
		c->program->failed = true;
		return NULL;
	}
	return c->args->args[c->used++];
}

/* Returns the argument of a `*` (width or precision); NULL, left out, if it is unknown. */
static const struct print_node *next_size(struct print_compiler *c)
{
	const struct print_node *node = next_arg(c);

	return node && node->kind == NODE_UNKNOWN ? NULL : node;
}

static bool is_power(uint32_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* Chooses a special kind for a field's digits or characters without flags, width or precision. */
static void simplify(struct print_piece *piece)
{
	const struct print_spec *spec = &piece->spec;
	const struct kernel_field *field = piece->arg->field;

	if (piece->arg->kind != NODE_FIELD || spec->width >= 0 || spec->precision >= 0 ||
	    piece->width || piece->precision || spec->alternate || spec->plus || spec->space)
		return;
	if (piece->kind == PIECE_NUMBER && is_power(field->size) && spec->longs >= 0) {
		if (spec->conversion == 'd' || spec->conversion == 'u')
			piece->kind = PIECE_DECIMAL;
		else if (spec->conversion == 'x')
			piece->kind = PIECE_HEX;
	} else if (piece->kind == PIECE_STRING && field->is_array && field->size) {
		piece->kind = PIECE_FIELD_TEXT;
	}
}

static void conversion(struct print_compiler *c, const char **at)
{
	struct print_piece piece;
	bool star_width, star_precision;
	const char *start = *at;

	if (!print_conversion(at, &piece, &star_width, &star_precision)) {
		if (piece.spec.longs > 2 || piece.spec.longs < -2) {
			c->program->failed = true;
		} else if (*at > start + 1) { /* print unknown conversions as the tools do */
			const char unknown[] = {'>', (*at)[-1], '<'};
			add_literal(c, unknown, sizeof unknown);
		}
		return;
	}
	piece.width = star_width ? next_size(c) : NULL;
	piece.precision = star_precision ? next_size(c) : NULL;
	piece.arg = next_arg(c);
	if (c->program->failed)
		return;
	if (piece.arg->kind == NODE_UNKNOWN) {
		add_literal(c, piece.arg->text, strlen(piece.arg->text));
		return;
	}
	if (piece.kind == PIECE_POINTER)
		piece.text = arena_strndup(c->arena, piece.text, piece.len);
	simplify(&piece);
	*add_piece(c, PIECE_LITERAL) = piece;
}

/* Sets program->room, and pads literals for copy_padded(): see print_run(). */
static void print_compile_make_room(struct print_program *program, struct arena *arena)
{
	program->room = COPY_PAD;
	for (uint32_t i = 0; i < program->count; i++) {
		struct print_piece *piece = &program->pieces[i];
		program->room += NUMBER_ROOM;
		if (piece->kind != PIECE_LITERAL)
			continue;
		char *padded = arena_alloc(arena, piece->len + COPY_PAD);
		if (piece->len)
			memcpy(padded, piece->text, piece->len);
		piece->text = padded;
		program->room += piece->len;
	}
}

/* Finds the one field whose number the expression depends on; false: it depends on more. */
static bool find_number(const struct print_node *node, const struct kernel_field **field)
{
	switch ((enum node_kind)node->kind) {
	case NODE_NUMBER:
	case NODE_TEXT:
		return true;
	case NODE_FIELD:
		if (node->field->is_array || node->field->is_item ||
		    (*field && *field != node->field))
			return false;
		*field = node->field;
		return true;
	case NODE_CAST:
	case NODE_INVERT:
	case NODE_NOT:
	case NODE_FLAGS:
	case NODE_SYMBOL:
		return find_number(node->a, field);
	case NODE_BINARY:
		return find_number(node->a, field) && find_number(node->b, field);
	case NODE_CHOICE:
		return find_number(node->a, field) && find_number(node->b, field) &&
		       find_number(node->c, field);
	default:
		return false;
	}
}

/* Returns the field that a plain piece prints; NULL: the piece is not plain. */
static const struct kernel_field *plain_field(const struct print_piece *piece)
{
	const struct kernel_field *field = NULL;

	switch ((enum piece_kind)piece->kind) {
	case PIECE_DECIMAL:
	case PIECE_HEX:
		return piece->arg->field;
	case PIECE_FIELD_TEXT:
		return piece->arg->field->size == 16 ? piece->arg->field : NULL;
	case PIECE_STRING:
		if (piece->width || piece->precision || piece->arg->kind == NODE_FIELD ||
		    !find_number(piece->arg, &field) || !field || !is_power(field->size) ||
		    field->offset > UINT16_MAX)
			return NULL;
		return field;
	default:
		return NULL;
	}
}

static const struct ready_texts *make_texts(const struct tracing *tracing,
					    const struct print_piece *piece,
					    const struct kernel_field *field, struct arena *arena)
{
	struct ready_texts *texts = arena_alloc(arena, sizeof *texts);
	size_t size = (size_t)field->offset + field->size;
	uint8_t *data = mem_new_array(size, 1);
	const struct print_record record = {tracing, data, size};
	struct buf text = {0};

	for (size_t i = 0; i < READY_SMALL + READY_BITS; i++) {
		uint64_t number = i < READY_SMALL ? i : UINT64_C(1) << (i - READY_SMALL);
		memcpy(data + field->offset, &number, field->size);
		text.len = 0;
		print_piece(piece, &record, &text);
		texts->len[i] = (uint8_t)(text.len > READY_TEXT ? READY_TEXT + 1 : text.len);
		if (text.len && text.len <= READY_TEXT)
			memcpy(texts->text[i], text.data, text.len);
	}
	buf_release(&text);
	mem_free(data);
	return texts;
}

/* Sets how to load a plain number: unsigned, then cut to the conversion's width. */
static void make_load(const struct print_program *program, struct print_piece *piece,
		      const struct kernel_field *field)
{
	size_t end = (size_t)field->offset + 8;
	size_t over = end > program->need ? end - program->need : 0;

	piece->at = (uint32_t)(field->offset - over);
	piece->shift = (uint32_t)(8 * over);
	piece->mask = field->size < 8 ? (UINT64_C(1) << 8 * field->size) - 1 : UINT64_MAX;
	if (piece->kind == PIECE_STRING || piece->spec.longs)
		return;
	piece->mask &= UINT32_MAX;
	piece->sign = piece->spec.conversion == 'd' ? UINT64_C(1) << 31 : 0;
}

static void make_plain(const struct tracing *tracing, struct print_program *program,
		       struct arena *arena)
{
	program->need = tracing->big_endian ? SIZE_MAX : 8;
	if (tracing->big_endian)
		return;
	for (uint32_t i = 0; i < program->count; i++) {
		const struct kernel_field *field = plain_field(&program->pieces[i]);
		size_t end = field ? (size_t)field->offset + field->size : 0;
		program->need = end > program->need ? end : program->need;
	}
	for (uint32_t i = 0; i < program->count; i++) {
		struct print_piece *piece = &program->pieces[i];
		const struct kernel_field *field = plain_field(piece);
		if (!field)
			continue;
		piece->plain = true;
		piece->at = field->offset;
		if (piece->kind != PIECE_FIELD_TEXT)
			make_load(program, piece, field);
		if (piece->kind == PIECE_STRING)
			piece->texts = make_texts(tracing, piece, field, arena);
	}
}

static bool text_has_lines(const char *text)
{
	return text && strchr(text, '\n');
}

/* Can a %s of this expression print a newline? Texts of the record are not counted. */
static bool node_has_lines(const struct print_node *node)
{
	switch ((enum node_kind)node->kind) {
	case NODE_CHOICE:
		return node_has_lines(node->b) || node_has_lines(node->c);
	case NODE_FLAGS:
	case NODE_SYMBOL:
		for (uint32_t i = 0; i < node->nlabels; i++)
			if (text_has_lines(node->labels[i].text))
				return true;
		return text_has_lines(node->text);
	case NODE_NUMBER:
	case NODE_TEXT:
		return text_has_lines(node->text);
	default:
		return true;
	}
}

static bool is_record_text(const struct print_node *node)
{
	return node->kind == NODE_STRING || (node->kind == NODE_FIELD && node->field->is_array);
}

static void find_lines(struct print_program *program)
{
	for (uint32_t i = 0; i < program->count; i++) {
		const struct print_piece *piece = &program->pieces[i];
		const char *newline = NULL;
		switch ((enum piece_kind)piece->kind) {
		case PIECE_LITERAL:
			newline = memchr(piece->text, '\n', piece->len);
			program->lines |= newline && (i + 1 < program->count ||
						      newline + 1 < piece->text + piece->len);
			break;
		case PIECE_DECIMAL:
		case PIECE_HEX:
			break;
		case PIECE_FIELD_TEXT:
			program->texts = true;
			break;
		case PIECE_NUMBER:
			program->lines |= piece->spec.conversion == 'c';
			break;
		case PIECE_STRING:
			if (is_record_text(piece->arg))
				program->texts = true;
			else
				program->lines |= node_has_lines(piece->arg);
			break;
		case PIECE_POINTER:
			program->lines = true;
			break;
		}
	}
}

/* Does the expression print names of the field's bits (NODE_FLAGS), maybe in a choice? */
static bool has_flags_of(const struct print_node *node, const struct kernel_field *field)
{
	const struct kernel_field *of = NULL;

	switch ((enum node_kind)node->kind) {
	case NODE_FLAGS:
		return find_number(node->a, &of) && of == field;
	case NODE_CHOICE:
		return has_flags_of(node->b, field) || has_flags_of(node->c, field);
	default:
		return false;
	}
}

/* Finds the piece of sched_switch's print fmt that prints prev_state by letters. */
static void find_state(struct print_program *program, const struct tracing_text *text)
{
	const struct kernel_field *state = format_field(text, "prev_state");

	for (uint32_t i = 0; state && i < program->count && !program->state; i++) {
		const struct print_piece *piece = &program->pieces[i];
		if (piece->kind == PIECE_STRING && has_flags_of(piece->arg, state))
			program->state = piece;
	}
}

struct print_program *print_compile(const struct tracing *tracing, const struct tracing_text *text,
				    enum tracing_style style, struct arena *arena)
{
	struct print_program *program = arena_alloc(arena, sizeof *program);
	struct print_args args;
	struct print_compiler c = {.args = &args, .program = program, .arena = arena};

	if (!print_parse(tracing, text, style == TRACING_TRACECMD, arena, &args)) {
		program->failed = true;
		return program;
	}
	for (const char *at = args.format; *at && !program->failed;) {
		if (at[0] == '%' && at[1] != '%')
			conversion(&c, &at);
		else
			at = literal(&c, at);
	}
	print_compile_make_room(program, arena);
	make_plain(tracing, program, arena);
	find_lines(program);
	if (text->plugin == PLUGIN_SWITCH)
		find_state(program, text);
	return program;
}
