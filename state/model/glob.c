/*
 * glob.c - names against patterns with * ? [..]
 *
 * Only the last star is retried, so the time is at most pattern length times text length. Each star
 * matches as few characters as let the rest match: `sys_*` of sys_open captures "open".
 */
#include "state/model/glob.h"

/* Is c in the class [..] at pattern[*pos]? Moves *pos behind it. Without ']' it is a plain '['. */
static bool class_has(const char *pattern, size_t n, size_t *pos, unsigned char c)
{
	size_t p = *pos + 1;
	bool negated = p < n && (pattern[p] == '!' || pattern[p] == '^');
	bool found = false;
	size_t first;

	p += negated;
	for (first = p; p < n && (pattern[p] != ']' || p == first); p++) {
		unsigned char low = (unsigned char)pattern[p], high = low;
		if (p + 2 < n && pattern[p + 1] == '-' && pattern[p + 2] != ']') {
			high = (unsigned char)pattern[p + 2];
			p += 2;
		}
		found = found || (c >= low && c <= high);
	}
	if (p >= n) {
		++*pos;
		return c == '[';
	}
	*pos = p + 1;
	return found != negated;
}

static bool one_matches(const char *pattern, size_t n, size_t *p, char c)
{
	if (pattern[*p] == '[')
		return class_has(pattern, n, p, (unsigned char)c);
	++*p;
	return pattern[*p - 1] == '?' || pattern[*p - 1] == c;
}

static void capture(struct captures *captures, uint32_t star, const char *text, size_t from,
		    size_t to)
{
	if (!captures || star >= CAPTURES)
		return;
	captures->text[star] = text + from;
	captures->len[star] = to - from;
	captures->n = star + 1;
}

bool glob_match(const char *pattern, size_t n, const char *text, size_t len,
		struct captures *captures)
{
	size_t p = 0, t = 0;
	size_t retry_p = SIZE_MAX, retry_t = 0, star_from = 0; /* behind the last star */
	uint32_t stars = 0;

	if (captures)
		captures->n = 0;
	while (t < len || p < n) {
		if (p < n && pattern[p] == '*') {
			retry_p = ++p;
			retry_t = star_from = t;
			capture(captures, stars++, text, t, p < n ? t : len);
			if (p == n)
				return true;
			continue;
		}
		size_t next = p;
		if (p < n && t < len && one_matches(pattern, n, &next, text[t])) {
			p = next;
			t++;
			continue;
		}
		if (retry_p == SIZE_MAX || retry_t >= len)
			return false;
		p = retry_p;
		t = ++retry_t;
		capture(captures, stars - 1, text, star_from, t);
	}
	return true;
}
