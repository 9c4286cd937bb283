/* pattern.c - see pattern.h */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "oneliner/pattern.h"

#include "engine/base/mem.h"

#include <pcre2.h>

enum { STEPS_MAX = 100000, MEMORY_MAX_KIB = 4096, GROUPS_MAX = 64 };

struct pattern_room {
	pcre2_match_context *limits;
	pcre2_match_data *data;
};

void *pattern_new(const struct oneliner *program, const struct ast *node, struct error *err)
{
	PCRE2_UCHAR why[128];
	PCRE2_SIZE offset;
	int code;
	const struct ast *text = node->args[1];
	pcre2_code *pattern = pcre2_compile((PCRE2_SPTR)text->value.text, text->value.len,
					    PCRE2_NEVER_BACKSLASH_C, &code, &offset, NULL);

	if (!pattern) {
		pcre2_get_error_message(code, why, sizeof why);
		oneliner_error(program, text->at, err,
			       "%s: the pattern is wrong at its character %zu: %s",
			       node->kind == AST_CALL ? "captures()" : "=~", (size_t)offset + 1,
			       (const char *)why);
	}
	return pattern;
}

void pattern_free(void *pattern)
{
	pcre2_code_free(pattern);
}

struct pattern_room *pattern_room_new(void)
{
	struct pattern_room *room = mem_new(sizeof *room);

	room->limits = pcre2_match_context_create(NULL);
	room->data = pcre2_match_data_create(GROUPS_MAX, NULL);
	pcre2_set_match_limit(room->limits, STEPS_MAX);
	pcre2_set_heap_limit(room->limits, MEMORY_MAX_KIB);
	return room;
}

void pattern_room_free(struct pattern_room *room)
{
	if (!room)
		return;
	pcre2_match_data_free(room->data);
	pcre2_match_context_free(room->limits);
	mem_free(room);
}

static int match(struct pattern_room *room, const void *pattern, const struct value *text)
{
	return pcre2_match(pattern, (PCRE2_SPTR)text->text, text->len, 0, 0, room->data,
			   room->limits);
}

bool pattern_matches(struct pattern_room *room, const void *pattern, const struct value *text,
		     bool *out)
{
	int groups = match(room, pattern, text);

	*out = groups >= 0;
	return groups >= 0 || groups == PCRE2_ERROR_NOMATCH;
}

bool pattern_capture(struct pattern_room *room, const void *pattern, const struct value *text,
		     int64_t number, struct value *out)
{
	int groups = match(room, pattern, text);
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(room->data);

	*out = value_text("", 0);
	if (groups < 0)
		return groups == PCRE2_ERROR_NOMATCH;
	if (number >= 0 && number < groups && ends[2 * number] != PCRE2_UNSET &&
	    ends[2 * number] <= ends[2 * number + 1]) /* \K may set the begin behind the end */
		*out = value_text(text->text + ends[2 * number],
				  (uint32_t)(ends[2 * number + 1] - ends[2 * number]));
	return true;
}
