/* input.c - parses --input ctf,...: where packets and their metadata are */
#include "engine/base/arena.h"
#include "engine/ctf/ctf_internal.h"

#include <stdlib.h>
#include <string.h>

static bool take_prefix(const char *value, struct ctf_input *out, struct error *err)
{
	char *end;

	out->prefix = strtoull(value, &end, 10);
	out->has_prefix = true;
	if (*value < '0' || *value > '9' || *end || out->prefix > INT32_MAX)
		return error_set(err, ERR_QUERY, "ctf: prefix=%s: a number of bytes is expected",
				 value);
	return true;
}

static bool take_setting(const char *word, struct ctf_input *out, struct error *err)
{
	if (!strcmp(word, "scan"))
		return out->scan = true;
	if (!strcmp(word, "datagrams"))
		return out->datagrams = true;
	if (!strncmp(word, "prefix=", 7))
		return take_prefix(word + 7, out, err);
	if (!strncmp(word, "metadata=", 9) && word[9])
		return (out->metadata = word + 9);
	if (!strncmp(word, "shm=", 4) && word[4])
		return (out->shm = word + 4);
	return error_set(err, ERR_QUERY,
			 "ctf: setting \"%s\" is not known; there are metadata=FILE, shm=FOLDER, "
			 "prefix=BYTES, scan and datagrams",
			 word);
}

bool ctf_input_parse(const char *settings, struct arena *arena, struct ctf_input *out,
		     struct error *err)
{
	*out = (struct ctf_input){0};
	while (settings && *settings) {
		size_t len = strcspn(settings, ",");
		if (!take_setting(arena_strndup(arena, settings, len), out, err))
			return false;
		settings += len + (settings[len] == ',');
	}
	if (out->shm && (out->metadata || out->scan || out->has_prefix || out->datagrams))
		return error_set(err, ERR_QUERY,
				 "ctf: the folder of shm=FOLDER has metadata and files of packets: "
				 "shm stands alone");
	return !out->scan || (!out->has_prefix && !out->datagrams) ||
	       error_set(err, ERR_QUERY,
			 "ctf: scan finds packets wherever they are: no prefix and no datagrams");
}
