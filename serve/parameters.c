/* parameters.c - reads members of a request's body and clamps them to bounds */
#include "serve/serving.h"

struct json_object *request_get(const struct served_request *request, const char *name)
{
	struct json_object *inside, *found = NULL;

	if (!request->body)
		return NULL;
	if (json_object_object_get_ex(request->body, "parameters", &inside) &&
	    json_object_is_type(inside, json_type_object) &&
	    json_object_object_get_ex(inside, name, &found))
		return found;
	json_object_object_get_ex(request->body, name, &found);
	return found;
}

/* Reads an integer; numbers out of its range become the nearest one. */
static bool take_int(struct json_object *from, int64_t *out)
{
	if (!json_object_is_type(from, json_type_int) &&
	    !json_object_is_type(from, json_type_double))
		return false;
	*out = json_object_get_int64(from);
	return true;
}

static bool member_int(struct json_object *from, const char *name, int64_t *out)
{
	struct json_object *member;

	return from && json_object_is_type(from, json_type_object) &&
	       json_object_object_get_ex(from, name, &member) && take_int(member, out);
}

int64_t request_int(const struct served_request *request, const char *name, int64_t least,
		    int64_t most, int64_t usual)
{
	struct json_object *from = request_get(request, name);
	int64_t number;

	if (!from || !take_int(from, &number))
		return usual;
	return number < least ? least : number > most ? most : number;
}

const char *request_text(const struct served_request *request, const char *name)
{
	struct json_object *from = request_get(request, name);

	return from && json_object_is_type(from, json_type_string) ? json_object_get_string(from)
								   : NULL;
}

static struct json_object *items_of(const struct served_request *request, const char *name,
				    size_t *count)
{
	struct json_object *from = request_get(request, name);

	*count = 0;
	if (!from || !json_object_is_type(from, json_type_array))
		return NULL;
	*count = json_object_array_length(from);
	*count = *count < ITEMS_MOST ? *count : ITEMS_MOST;
	return from;
}

bool request_time(const struct served_request *request, size_t i, nstime *out)
{
	size_t count;
	struct json_object *times = items_of(request, "requested_times", &count);

	return i < count && take_int(json_object_array_get_idx(times, i), out);
}

size_t request_items(const struct served_request *request, int64_t *items, size_t most)
{
	size_t count, n = 0;
	struct json_object *from = items_of(request, "requested_items", &count);

	for (size_t i = 0; i < count && n < most; i++)
		n += take_int(json_object_array_get_idx(from, i), &items[n]);
	return n;
}

/* Clamps [begin, end) to the trace, to one nanosecond at least. */
static void fit_range(const struct served *served, struct asked_range *range)
{
	nstime first = served->first, last = served->last;

	if (first > last)
		first = last = 0;
	nstime end = last < NSTIME_MAX ? last + 1 : last;
	range->begin = range->begin < first ? first : range->begin > last ? last : range->begin;
	range->end = range->end > end ? end : range->end;
	if (range->end <= range->begin)
		range->end = range->begin + 1;
}

struct asked_range request_range(const struct served_request *request)
{
	struct json_object *timerange = request_get(request, "requested_timerange");
	struct asked_range range = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	int64_t columns = 0;
	size_t count;

	if (timerange) {
		member_int(timerange, "start", &range.begin);
		if (member_int(timerange, "end", &range.end) && range.end < NSTIME_MAX)
			range.end++; /* `end` is inclusive */
		member_int(timerange, "nbTimes", &columns);
		member_int(timerange, "nbSamples", &columns);
	} else if (items_of(request, "requested_times", &count) && count) {
		request_time(request, 0, &range.begin);
		if (request_time(request, count - 1, &range.end) && range.end < NSTIME_MAX)
			range.end++;
		columns = (int64_t)count;
	}
	fit_range(request->served, &range);
	range.columns = columns < 0 ? 0 : columns > COLUMNS_MOST ? COLUMNS_MOST : (uint32_t)columns;
	return range;
}
