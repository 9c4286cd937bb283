/*
 * tsp_config.c - the protocol's configurations: rules that a client uploads, and their outputs
 *
 * Clients may upload rules. These can only read events: rules that are no file cannot include one.
 * The attributes that they write become outputs of each experiment, with a prefix: "c1.".
 */
#include "engine/base/mem.h"
#include "engine/columns/json.h"
#include "serve/serving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULES_MOST = 256 << 10, NAME_MOST = 200 };

static const char type_id[] = "yore.rules";

static void tsp_config_add_type(struct buf *out)
{
	json_printf(out,
		    "{'id':%s,'name':'Rules','description':'Rules that say what events mean: "
		    "their attributes become outputs','schema':{'type':'object','properties':"
		    "{'rules':{'type':'string','description':'the text of a rule file'}},"
		    "'required':['rules']},'parameterDescriptors':[{'keyName':'rules',"
		    "'description':'the text of a rule file','dataType':'STRING',"
		    "'required':true}]}",
		    type_id);
}

static bool list_types(struct served_request *request)
{
	buf_add_char(request->out, '[');
	tsp_config_add_type(request->out);
	buf_add_char(request->out, ']');
	return true;
}

static bool is_type(const struct served_request *request)
{
	return !strcmp(request->parts[0], type_id) ||
	       reply_fails(request->reply, 404, "there is no such type");
}

static bool get_type(struct served_request *request)
{
	if (!is_type(request))
		return false;
	tsp_config_add_type(request->out);
	return true;
}

static bool output_types(struct served_request *request)
{
	buf_add_text(request->out, "[]"); /* none: configurations belong to the server */
	return true;
}

/* ---- configurations; under serving->lock ---- */

static void add_config(const struct rule_config *config, struct buf *out)
{
	json_printf(out,
		    ",{'id':%s,'name':%s,'description':%s,'sourceTypeId':%s,'parameters':"
		    "{'rules':%s}}",
		    config->id, config->name, config->description, type_id, config->text);
}

static bool list_configs(struct served_request *request)
{
	struct serving *serving = request->serving;

	if (!is_type(request))
		return false;
	buf_add_char(request->out, '[');
	pthread_mutex_lock(&serving->lock);
	for (unsigned i = 1; i < CONFIGS; i++)
		if (serving->configs[i].id)
			add_config(&serving->configs[i], request->out);
	pthread_mutex_unlock(&serving->lock);
	buf_add_char(request->out, ']');
	return true;
}

/* ---- making one ---- */

/*
 * Lists the classes that the rules write, for each trace. False: they have errors, and `made` is
 * empty.
 */
static bool make_classes(struct serving *serving, const struct rule_config *config,
			 struct row_classes *made, struct error *err)
{
	struct rules *rules = rule_config_read(config, err);
	bool good = rules != NULL;
	size_t count;

	for (count = 0; count < serving->ntraces && good; count++) {
		struct served *served = &serving->traces[count];
		pthread_rwlock_rdlock(&served->open);
		good = served_read_classes(served, rules, &made[count], err);
		pthread_rwlock_unlock(&served->open);
	}
	for (size_t i = 0; i < count && !good; i++)
		row_classes_release(&made[i]);
	rules_free(rules);
	return good;
}

static void set_classes(struct serving *serving, unsigned number, struct row_classes *made)
{
	for (size_t i = 0; i < serving->ntraces; i++) {
		struct served *served = &serving->traces[i];
		pthread_rwlock_wrlock(&served->open);
		served_close_config(served, number);
		served->classes[number] = made[i];
		pthread_rwlock_unlock(&served->open);
	}
}

static bool read_config(const struct served_request *request, struct rule_config *out)
{
	const char *name = request_text(request, "name"), *text = request_text(request, "rules");
	const char *description = request_text(request, "description");

	if (!name || !*name || strlen(name) > NAME_MOST || !text || strlen(text) > RULES_MOST)
		return reply_fails(request->reply, 400,
				   "rules have a name, and a text of at most 256 KB");
	*out = (struct rule_config){.name = mem_strdup(name),
				    .description = mem_strdup(description ? description : ""),
				    .text = mem_strdup(text)};
	return true;
}

/* Stores the configuration under that number. */
static void replace_config(struct serving *serving, unsigned number, struct rule_config *config,
			   struct buf *out)
{
	char id[8];

	snprintf(id, sizeof id, "c%u", number);
	config->id = mem_strdup(id);
	pthread_mutex_lock(&serving->lock);
	rule_config_release(&serving->configs[number]);
	serving->configs[number] = *config;
	add_config(config, out);
	pthread_mutex_unlock(&serving->lock);
}

/* The least free number; 0: none. */
static unsigned free_number(struct serving *serving)
{
	unsigned number = 0;

	pthread_mutex_lock(&serving->lock);
	for (unsigned i = CONFIGS; i-- > 1;)
		if (!serving->configs[i].id)
			number = i;
	pthread_mutex_unlock(&serving->lock);
	return number;
}

/* Stores the text before its classes: a client that sees an output can then open it. */
static bool write_config(struct served_request *request, unsigned number)
{
	struct serving *serving = request->serving;
	struct rule_config config;

	if (!read_config(request, &config))
		return false;
	struct row_classes *made = mem_new_array(serving->ntraces + 1, sizeof *made);
	bool good = make_classes(serving, &config, made, &request->err);
	if (good) {
		replace_config(serving, number, &config, request->out);
		set_classes(serving, number, made);
	} else {
		rule_config_release(&config);
	}
	mem_free(made);
	return good;
}

/* One upload at a time: two at once would choose the same number. */
static pthread_mutex_t uploading = PTHREAD_MUTEX_INITIALIZER;

static bool make_config(struct served_request *request)
{
	if (!is_type(request))
		return false;
	pthread_mutex_lock(&uploading);
	unsigned number = free_number(request->serving);
	bool good = number ? write_config(request, number)
			   : reply_fails(request->reply, 400,
					 "there are too many rule sets: delete one");
	pthread_mutex_unlock(&uploading);
	return good;
}

/* The number of the configuration parts[1]; 0: none, and the reply says so. */
static unsigned find_config(struct served_request *request)
{
	struct serving *serving = request->serving;
	unsigned number = 0;

	if (!is_type(request))
		return 0;
	pthread_mutex_lock(&serving->lock);
	for (unsigned i = 1; i < CONFIGS; i++)
		if (serving->configs[i].id && !strcmp(serving->configs[i].id, request->parts[1]))
			number = i;
	pthread_mutex_unlock(&serving->lock);
	if (!number)
		reply_fails(request->reply, 404, "there are no such rules");
	return number;
}

static bool get_config(struct served_request *request)
{
	unsigned number = find_config(request);

	if (!number)
		return false;
	pthread_mutex_lock(&request->serving->lock);
	if (request->serving->configs[number].id)
		add_config(&request->serving->configs[number], request->out);
	pthread_mutex_unlock(&request->serving->lock);
	return true;
}

static bool put_config(struct served_request *request)
{
	pthread_mutex_lock(&uploading);
	unsigned number = find_config(request);
	bool good = number && write_config(request, number);
	pthread_mutex_unlock(&uploading);
	return good;
}

static bool delete_config(struct served_request *request)
{
	struct serving *serving = request->serving;

	pthread_mutex_lock(&uploading);
	unsigned number = find_config(request);
	for (size_t i = 0; number && i < serving->ntraces; i++) {
		struct served *served = &serving->traces[i];
		pthread_rwlock_wrlock(&served->open);
		served_close_config(served, number);
		pthread_rwlock_unlock(&served->open);
	}
	if (number) {
		pthread_mutex_lock(&serving->lock);
		add_config(&serving->configs[number], request->out);
		rule_config_release(&serving->configs[number]);
		pthread_mutex_unlock(&serving->lock);
	}
	pthread_mutex_unlock(&uploading);
	return number != 0;
}

const struct operation config_operations[] = {
	{"GET", "tsp/api/config/types", list_types, OF_SERVER},
	{"GET", "tsp/api/config/types/*", get_type, OF_SERVER},
	{"POST", "tsp/api/config/types/*", make_config, OF_SERVER}, /* as the client of npm does */
	{"GET", "tsp/api/config/types/*/configs", list_configs, OF_SERVER},
	{"POST", "tsp/api/config/types/*/configs", make_config, OF_SERVER},
	{"GET", "tsp/api/config/types/*/configs/*", get_config, OF_SERVER},
	{"PUT", "tsp/api/config/types/*/configs/*", put_config, OF_SERVER},
	{"DELETE", "tsp/api/config/types/*/configs/*", delete_config, OF_SERVER},
	{"GET", "tsp/api/experiments/*/outputs/*/configTypes", output_types, OF_TRACE},
	{0},
};
