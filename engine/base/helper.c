/* helper.c - see helper.h: one lock, one condition, a list of duties */
#include "engine/base/helper.h"

#include "engine/base/mem.h"
#include "engine/base/workers.h"

struct helper {
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	struct duty *duties;
	const struct duty *at; /* being worked on */
	bool ending;
};

static struct duty *first_due(const struct helper *helper)
{
	struct duty *duty = helper->duties;

	while (duty && !duty->due(duty->arg))
		duty = duty->next;
	return duty;
}

static void *helper_run(void *arg)
{
	struct helper *helper = arg;

	pthread_mutex_lock(&helper->lock);
	while (!helper->ending) {
		struct duty *duty = first_due(helper);

		if (!duty) {
			pthread_cond_wait(&helper->changed, &helper->lock);
			continue;
		}
		helper->at = duty;
		duty->work(duty->arg);
		helper->at = NULL;
		pthread_cond_broadcast(&helper->changed);
	}
	pthread_mutex_unlock(&helper->lock);
	return NULL;
}

struct helper *helper_new(void)
{
	struct helper *helper = mem_new(sizeof *helper);

	pthread_mutex_init(&helper->lock, NULL);
	pthread_cond_init(&helper->changed, NULL);
	if (thread_start(&helper->thread, helper_run, helper))
		return helper;
	pthread_cond_destroy(&helper->changed);
	pthread_mutex_destroy(&helper->lock);
	mem_free(helper);
	return NULL;
}

void helper_free(struct helper *helper)
{
	if (!helper)
		return;
	pthread_mutex_lock(&helper->lock);
	helper->ending = true;
	pthread_cond_broadcast(&helper->changed);
	pthread_mutex_unlock(&helper->lock);
	pthread_join(helper->thread, NULL);
	pthread_cond_destroy(&helper->changed);
	pthread_mutex_destroy(&helper->lock);
	mem_free(helper);
}

void helper_give(struct helper *helper, struct duty *duty)
{
	struct duty **at = &helper->duties;

	pthread_mutex_lock(&helper->lock);
	while (*at)
		at = &(*at)->next;
	duty->next = NULL;
	*at = duty;
	pthread_cond_broadcast(&helper->changed);
	pthread_mutex_unlock(&helper->lock);
}

void helper_end(struct helper *helper, struct duty *duty)
{
	struct duty **at = &helper->duties;

	pthread_mutex_lock(&helper->lock);
	while (*at != duty)
		at = &(*at)->next;
	*at = duty->next;
	while (helper->at == duty)
		pthread_cond_wait(&helper->changed, &helper->lock);
	pthread_mutex_unlock(&helper->lock);
}

bool helper_is_next(const struct helper *helper, const struct duty *duty)
{
	return !helper->at && first_due(helper) == duty;
}

void helper_lock(struct helper *helper)
{
	pthread_mutex_lock(&helper->lock);
}

void helper_unlock(struct helper *helper)
{
	pthread_mutex_unlock(&helper->lock);
}

void helper_wait(struct helper *helper)
{
	pthread_cond_wait(&helper->changed, &helper->lock);
}

void helper_changed(struct helper *helper)
{
	pthread_cond_broadcast(&helper->changed);
}
