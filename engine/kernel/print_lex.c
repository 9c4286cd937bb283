/* print_lex.c - tokens of a print format's arguments, and words, strings and fields made of them */
#include "engine/kernel/print_parser.h"

#include <string.h>

enum { TALL_MAX = 2000 };

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

void parser_next(struct print_parser *p)
{
	const char *at = p->at;

	while (is_space(*at))
		at++;
	p->token = at;
	if (!*at) {
		p->kind = TOKEN_END;
	} else if (char_is_word(*at)) {
		p->kind = TOKEN_WORD;
		while (char_is_word(*at))
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

bool parser_at(const struct print_parser *p, const char *text)
{
	return (p->kind == TOKEN_SIGN || p->kind == TOKEN_WORD) && strlen(text) == p->len &&
	       !memcmp(p->token, text, p->len);
}

bool parser_accept(struct print_parser *p, const char *text)
{
	if (p->failed || !parser_at(p, text))
		return false;
	parser_next(p);
	return true;
}

void parser_expect(struct print_parser *p, const char *text)
{
	if (!parser_accept(p, text))
		p->failed = true;
}

struct print_node *parser_node(struct print_parser *p, enum node_kind kind)
{
	struct print_node *node = arena_alloc(p->arena, sizeof *node);

	node->kind = (uint8_t)kind;
	p->tall += kind == NODE_BINARY || kind == NODE_INDEX;
	if (++p->nodes > PARSER_NODES_MAX || p->tall > TALL_MAX)
		p->failed = true;
	return node;
}

const struct print_node *parser_number(struct print_parser *p, uint64_t value)
{
	struct print_node *node = parser_node(p, NODE_NUMBER);

	node->number = value;
	return node;
}

void parser_skip(struct print_parser *p, const char *sign)
{
	size_t depth = 0;

	while (!p->failed && (depth || !parser_at(p, sign))) {
		if (p->kind == TOKEN_SIGN && strchr("([{", *p->token))
			depth++;
		else if (p->kind == TOKEN_SIGN && depth && strchr(")]}", *p->token))
			depth--;
		if (p->kind == TOKEN_END)
			break;
		parser_next(p);
	}
}

const char *parser_strings(struct print_parser *p)
{
	struct buf joined = {0};

	while (p->kind == TOKEN_TEXT && !p->failed) {
		buf_add(&joined, p->token, p->len);
		parser_next(p);
	}
	const char *text = arena_strdup(p->arena, buf_text(&joined));
	buf_release(&joined);
	return text;
}

const char *parser_word(struct print_parser *p)
{
	if (p->kind != TOKEN_WORD) {
		p->failed = true;
		return "";
	}
	const char *text = arena_strndup(p->arena, p->token, p->len);
	parser_next(p);
	return text;
}

const struct print_node *parser_field(struct print_parser *p)
{
	struct print_node *node = parser_node(p, NODE_FIELD);

	parser_expect(p, "->");
	node->field = format_field(p->text, parser_word(p));
	return node->field ? node : parser_number(p, 0);
}

const char *parser_type(struct print_parser *p)
{
	struct buf name = {0};

	while (p->kind == TOKEN_WORD || parser_at(p, "*")) {
		if (name.len)
			buf_add_char(&name, ' ');
		buf_add(&name, p->token, p->len);
		parser_next(p);
	}
	const char *text = parser_at(p, ")") ? arena_strdup(p->arena, buf_text(&name)) : "";
	buf_release(&name);
	return text;
}
