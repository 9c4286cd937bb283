/* regex.c - see regex.h */
#include "state/expr/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "engine/base/mem.h"

enum { MEMORY_MAX_KIB = 4096 };

struct regex_room {
	pcre2_match_context *limits;
	pcre2_match_data *data;
};

struct regex *regex_new(const struct value *pattern, size_t *at, char *why)
{
	PCRE2_SIZE offset;
	int code;
	pcre2_code *regex = pcre2_compile((PCRE2_SPTR)pattern->text, pattern->len,
					  PCRE2_NEVER_BACKSLASH_C, &code, &offset, NULL);

	if (regex) {
		pcre2_jit_compile(regex, PCRE2_JIT_COMPLETE); /* without it matching is slower */
		return (struct regex *)regex;
	}
	pcre2_get_error_message(code, (PCRE2_UCHAR *)why, REGEX_WHY);
	*at = offset;
	return NULL;
}

void regex_free(struct regex *regex)
{
	pcre2_code_free((pcre2_code *)regex);
}

static struct regex_room *regex_room_new(void)
{
	struct regex_room *room = mem_new(sizeof *room);

	room->limits = pcre2_match_context_create(NULL);
	room->data = pcre2_match_data_create(REGEX_GROUP_MAX + 1, NULL);
	pcre2_set_match_limit(room->limits, REGEX_STEPS);
	pcre2_set_heap_limit(room->limits, MEMORY_MAX_KIB);
	return room;
}

void regex_room_free(struct regex_room *room)
{
	if (!room)
		return;
	pcre2_match_data_free(room->data);
	pcre2_match_context_free(room->limits);
	mem_free(room);
}

enum regex_result regex_match(struct regex_room **room, const struct regex *regex,
			      const struct value *text, uint32_t group, struct value *out)
{
	const pcre2_code *code = (const pcre2_code *)regex;
	const PCRE2_SPTR subject = (PCRE2_SPTR)text->text;
	int groups;

	if (!*room)
		*room = regex_room_new();
	pcre2_match_data *data = (*room)->data;
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data) + (size_t)2 * group;
	groups = pcre2_match(code, subject, text->len, 0, 0, data, (*room)->limits);
	if (groups == PCRE2_ERROR_JIT_STACKLIMIT)
		groups = pcre2_match(code, subject, text->len, 0, PCRE2_NO_JIT, data,
				     (*room)->limits);
	*out = value_text("", 0);
	/* 0: further groups did not fit the buffer; \K may set the begin behind the end */
	if ((groups == 0 || groups > (int)group) && ends[0] != PCRE2_UNSET && ends[0] <= ends[1])
		*out = value_text(text->text + ends[0], ends[1] - ends[0]);
	if (groups < 0 && groups != PCRE2_ERROR_NOMATCH)
		return REGEX_ENDLESS;
	return groups < 0 ? REGEX_NO : REGEX_YES;
}
