/* nearest.c - see nearest.h */
#include "engine/base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORD_LEAST = 3 }; /* least letters of a word that is searched for within names */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The optimal string alignment distance; keeps three rows of the table of prefixes' distances. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][NEAREST_LENGTH_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= nb; j++)
		last[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *reuse = before;

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] = least(last[j], row[j - 1]) + 1;
			row[j] = least(row[j], last[j - 1] + !same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				row[j] = least(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = reuse;
	}
	return last[nb];
}

/* The distance of two names; SIZE_MAX: they are not alike. */
static size_t likeness(const char *wanted, const char *name)
{
	size_t na = strlen(wanted), nb = strlen(name), longer = na > nb ? na : nb, found;

	if (!na || !nb || longer > NEAREST_LENGTH_MAX)
		return (size_t)-1;
	found = distance(wanted, na, name, nb);
	return found <= (longer < 6 ? 1 : longer / 3) && found < longer ? found : (size_t)-1;
}

/* Does the name contain the wanted one as one or more whole words? Other characters separate them.
 */
static bool has_word(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);

	for (const char *at = name; (at = strcasestr(at, wanted)) != NULL; at++)
		if ((at == name || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[len]))
			return true;
	return false;
}

/* Are both different tables' or tracers' names for the same thing? These always count as alike. */
static bool means_the_same(const char *wanted, const char *name)
{
	static const char *const words[][6] = {{"ts", "t", "time", "timestamp", "begin", "nsecs"},
					       {"dur", "runtime", "length", "duration", "latency"},
					       {"tid", "thread", "perf_tid", "vtid", "common_pid"},
					       {"comm", "procname", "perf_comm"}};
	enum { WORDS = sizeof *words / sizeof **words };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		bool has_wanted = false, has_name = false;
		for (size_t k = 0; k < WORDS && words[i][k]; k++) {
			has_wanted |= !strcmp(words[i][k], wanted);
			has_name |= !strcmp(words[i][k], name);
		}
		if (has_wanted && has_name)
			return true;
	}
	return false;
}

void nearest_begin(struct nearest *nearest, const char *wanted)
{
	*nearest = (struct nearest){.wanted = wanted};
}

void nearest_offer(struct nearest *nearest, const char *name)
{
	const char *colon = strrchr(name, ':');
	size_t found = likeness(nearest->wanted, name), i;

	if (found && means_the_same(nearest->wanted, name))
		found = 1;
	if (colon)
		found = least(found, likeness(nearest->wanted, colon + 1));
	if (found == (size_t)-1 && strlen(nearest->wanted) >= WORD_LEAST &&
	    has_word(name, nearest->wanted))
		found = NEAREST_LENGTH_MAX + strlen(name);
	if (found == (size_t)-1)
		return;
	for (i = 0; i < nearest->count; i++)
		if (!strcmp(nearest->names[i], name))
			return;
	if (nearest->count == NEAREST_MAX && found >= nearest->distances[NEAREST_MAX - 1])
		return;
	i = nearest->count < NEAREST_MAX ? nearest->count++ : NEAREST_MAX - 1;
	for (; i > 0 && nearest->distances[i - 1] > found; i--) {
		nearest->names[i] = nearest->names[i - 1];
		nearest->distances[i] = nearest->distances[i - 1];
	}
	nearest->names[i] = name;
	nearest->distances[i] = found;
}

bool nearest_words(const struct nearest *nearest, char *out, size_t size)
{
	if (size)
		out[0] = '\0';
	if (nearest->count == 1)
		snprintf(out, size, "did you mean \"%s\"?", nearest->names[0]);
	else if (nearest->count > 1)
		snprintf(out, size, "did you mean \"%s\" or \"%s\"?", nearest->names[0],
			 nearest->names[1]);
	return nearest->count > 0;
}

const char *nearest_hint(const struct nearest *nearest, char *out, size_t size)
{
	if (nearest_words(nearest, out, size - 1))
		strcat(out, " ");
	return out;
}
