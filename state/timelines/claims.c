/* claims.c - see claims.h; a claim file has its holder (random number, host) and a counter */
#include "state/timelines/claims.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "engine/base/temporary.h"
#include "engine/base/wait.h"
#include "engine/base/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { TEXT = 64, OWN = 40, BEATS = 8 /* updates of the counter per lapse time */ };

struct other_claim { /* a claim of another process */
	char *path;
	char text[TEXT];
	int64_t since; /* ms, when `text` was first seen */
};

struct claims {
	unsigned lapse;
	char own[OWN]; /* prefix of the text of our claims */
	struct other_claim *seen;
	size_t nseen, seen_capacity;
	pthread_t thread;
	bool beating;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t changed;
	char *path; /* of the claim that is held; NULL: none */
	int noted;  /* temporary_note(): a signal that ends the process removes the file */
	uint64_t count;
	bool stop;
};

/* False: there is no such file. The text of a file just being made is empty. */
static bool read_claim(const char *path, char text[TEXT])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	memset(text, 0, TEXT);
	if (fd < 0)
		return false;
	(void)file_get(fd, text, TEXT - 1, 0);
	close(fd);
	return true;
}

static bool is_ours(const struct claims *claims, const char *path)
{
	char text[TEXT];

	return read_claim(path, text) && !strncmp(text, claims->own, strlen(claims->own));
}

/* Call with the lock held. Returns 0 or an errno. */
static int write_claim(struct claims *claims, const char *path, int flags)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	char text[TEXT];
	int failed = 0;

	if (fd < 0)
		return errno;
	snprintf(text, sizeof text, "%s %020llu\n", claims->own,
		 (unsigned long long)++claims->count);
	if (!file_put_at(fd, text, strlen(text), 0))
		failed = errno;
	if (close(fd) != 0 && !failed) /* network file systems write only now */
		failed = errno;
	return failed;
}

/* The thread that updates the counter; does not write to a claim that another process took over. */
static void *beat(void *arg)
{
	struct claims *claims = arg;

	pthread_mutex_lock(&claims->lock);
	while (!claims->stop) {
		if (claims->path && is_ours(claims, claims->path))
			(void)write_claim(claims, claims->path, 0);
		wait_ms(&claims->changed, &claims->lock, claims->lapse / BEATS + 1);
	}
	pthread_mutex_unlock(&claims->lock);
	return NULL;
}

struct claims *claims_new(unsigned lapse)
{
	struct claims *claims = mem_new(sizeof *claims);
	uint64_t random = 0;
	char host[32] = "";

	(void)getrandom(&random, sizeof random, 0);
	(void)gethostname(host, sizeof host - 1);
	claims->lapse = lapse;
	snprintf(claims->own, sizeof claims->own, "%016llx %.20s", (unsigned long long)random,
		 host);
	pthread_mutex_init(&claims->lock, NULL);
	pthread_cond_init(&claims->changed, NULL);
	return claims;
}

void claims_give_up(struct claims *claims)
{
	pthread_mutex_lock(&claims->lock);
	if (claims->path && is_ours(claims, claims->path))
		unlink(claims->path);
	if (claims->path)
		temporary_forget(claims->noted);
	mem_free(claims->path);
	claims->path = NULL;
	pthread_mutex_unlock(&claims->lock);
}

void claims_free(struct claims *claims)
{
	if (!claims)
		return;
	claims_give_up(claims);
	pthread_mutex_lock(&claims->lock);
	claims->stop = true;
	pthread_cond_signal(&claims->changed);
	pthread_mutex_unlock(&claims->lock);
	if (claims->beating)
		pthread_join(claims->thread, NULL);
	for (size_t i = 0; i < claims->nseen; i++)
		mem_free(claims->seen[i].path);
	mem_free(claims->seen);
	pthread_cond_destroy(&claims->changed);
	pthread_mutex_destroy(&claims->lock);
	mem_free(claims);
}

/* Has the claim file not changed for more than `lapse` ms, as far as this process saw it? */
static bool has_lapsed(struct claims *claims, const char *path)
{
	struct other_claim *seen = NULL;
	char text[TEXT];

	if (!read_claim(path, text))
		return false;
	for (size_t i = 0; i < claims->nseen && !seen; i++)
		if (!strcmp(claims->seen[i].path, path))
			seen = &claims->seen[i];
	if (!seen) {
		seen = mem_push(claims->seen, claims->nseen, claims->seen_capacity);
		*seen = (struct other_claim){.path = mem_strdup(path), .since = clock_ms()};
		memcpy(seen->text, text, sizeof text);
	} else if (memcmp(seen->text, text, sizeof text) != 0) {
		memcpy(seen->text, text, sizeof text);
		seen->since = clock_ms();
	}
	return clock_ms() - seen->since > claims->lapse;
}

/* When several processes take over at once the last one gets the claim. Returns 0 or an errno. */
static int take_over(struct claims *claims, const char *path)
{
	struct buf part = {0};
	int failed;

	buf_printf(&part, "%s.%.16s.new", path, claims->own);
	failed = write_claim(claims, part.data, O_CREAT | O_EXCL);
	if (!failed && rename(part.data, path) != 0)
		failed = errno;
	if (failed)
		unlink(part.data);
	buf_release(&part);
	return failed;
}

enum claimed claims_take(struct claims *claims, const char *path, struct error *err)
{
	int failed;

	claims_give_up(claims);
	pthread_mutex_lock(&claims->lock);
	failed = write_claim(claims, path, O_CREAT | O_EXCL);
	if (failed == EEXIST && has_lapsed(claims, path))
		failed = take_over(claims, path);
	if (!failed) {
		claims->path = mem_strdup(path);
		claims->noted = temporary_note(path, false);
		if (!claims->beating)
			claims->beating = thread_start(&claims->thread, beat, claims);
		pthread_cond_signal(&claims->changed);
	}
	pthread_mutex_unlock(&claims->lock);
	if (failed && failed != EEXIST)
		error_set(err, ERR_IO, "%s: %s", path, strerror(failed));
	return !failed ? CLAIM_OURS : failed == EEXIST ? CLAIM_BUSY : CLAIM_FAILED;
}
