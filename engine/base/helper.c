/* helper.c - see helper.h: one lock, one condition, a list of duties */
#include "engine/base/helper.h"

#include "engine/base/mem.h"
#include "engine/base/workers.h"

struct helper {
	struct workers workers; /* one thread; its lock is that of all below */
	struct duty *duties;
	const struct duty *at; /* the one that the helper works on; NULL: it is idle */
	bool ending;
};

static struct duty *first_due(const struct helper *helper)
{
	struct duty *duty = helper->duties;

	while (duty && !duty->due(duty->arg))
		duty = duty->next;
	return duty;
}

static void do_duties(void *arg, unsigned i)
{
	struct helper *helper = arg;

	(void)i;
	pthread_mutex_lock(&helper->workers.lock);
	while (!helper->ending) {
		struct duty *duty = first_due(helper);

		if (!duty) {
			pthread_cond_wait(&helper->workers.changed, &helper->workers.lock);
			continue;
		}
		helper->at = duty;
		duty->work(duty->arg);
		helper->at = NULL;
		pthread_cond_broadcast(&helper->workers.changed);
	}
	pthread_mutex_unlock(&helper->workers.lock);
}

struct helper *helper_new(void)
{
	struct helper *helper = mem_new(sizeof *helper);
	struct error ignored; /* duties report their own failures */

	workers_init(&helper->workers);
	if (workers_start(&helper->workers, 1, do_duties, helper))
		return helper;
	(void)!workers_end(&helper->workers, &ignored);
	mem_free(helper);
	return NULL;
}

void helper_free(struct helper *helper)
{
	struct error ignored;

	if (!helper)
		return;
	helper_lock(helper);
	helper->ending = true;
	helper_changed(helper);
	helper_unlock(helper);
	(void)!workers_end(&helper->workers, &ignored);
	mem_free(helper);
}

void helper_give(struct helper *helper, struct duty *duty)
{
	struct duty **at = &helper->duties;

	pthread_mutex_lock(&helper->workers.lock);
	while (*at)
		at = &(*at)->next;
	duty->next = NULL;
	*at = duty;
	pthread_cond_broadcast(&helper->workers.changed);
	pthread_mutex_unlock(&helper->workers.lock);
}

void helper_end(struct helper *helper, struct duty *duty)
{
	struct duty **at = &helper->duties;

	pthread_mutex_lock(&helper->workers.lock);
	while (*at != duty)
		at = &(*at)->next;
	*at = duty->next;
	while (helper->at == duty)
		pthread_cond_wait(&helper->workers.changed, &helper->workers.lock);
	pthread_mutex_unlock(&helper->workers.lock);
}

bool helper_is_next(const struct helper *helper, const struct duty *duty)
{
	return !helper->at && first_due(helper) == duty;
}

void helper_lock(struct helper *helper)
{
	pthread_mutex_lock(&helper->workers.lock);
}

void helper_unlock(struct helper *helper)
{
	pthread_mutex_unlock(&helper->workers.lock);
}

void helper_wait(struct helper *helper)
{
	pthread_cond_wait(&helper->workers.changed, &helper->workers.lock);
}

void helper_changed(struct helper *helper)
{
	pthread_cond_broadcast(&helper->workers.changed);
}
