/* store_place.c - see store_place.h */
#include "tests/index/store_place.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"
#include "tests/harness.h"
#include "tests/index/fake_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int place_setup(void **state)
{
	struct place *place = mem_new(sizeof *place);

	place->dir = fake_folder();
	snprintf(place->path, sizeof place->path, "%s/x", place->dir);
	*state = place;
	return 0;
}

int place_teardown(void **state)
{
	struct place *place = *state;

	fake_remove(place->dir);
	mem_free(place);
	return 0;
}

struct store *open_store(const char *path)
{
	struct store *store;
	struct error err;
	bool remade;

	if (!store_open(path, &store, &remade, &err))
		fail_msg("%s", err.text);
	return store;
}

struct bytes text(const char *words)
{
	return (struct bytes){(const uint8_t *)words, strlen(words)};
}

size_t list_segments(const char *dir, char names[64][300])
{
	struct folder_names all;
	struct error err;
	size_t count = 0;

	assert_true(folder_list(dir, &all, &err));
	for (size_t i = 0; i < all.count; i++)
		if (strstr(all.items[i], ".seg") && count < 64)
			snprintf(names[count++], 300, "%s/%s", dir, all.items[i]);
	folder_release(&all);
	return count;
}

void newest_segment(const char *dir, char path[300])
{
	char names[64][300];
	size_t count = list_segments(dir, names);

	assert_true(count > 0);
	memcpy(path, names[count - 1], 300);
}

void in_folder(const char *dir, const char *name, char path[300])
{
	snprintf(path, 300, "%s/%s", dir, name);
}

bool put_some(struct store_txn *txn, void *arg, struct error *err)
{
	(void)arg;
	return store_put(txn, text("a1"), text("one"), err) &&
	       store_put(txn, text("a2"), text("two"), err) &&
	       store_put(txn, text("b1"), text("three"), err);
}

bool drop_a(struct store_txn *txn, void *arg, struct error *err)
{
	(void)arg;
	(void)err;
	store_delete_prefix(txn, text("a"));
	return true;
}

bool put_much(struct store_txn *txn, void *arg, struct error *err)
{
	static uint8_t value[STORE_VALUE];
	int *runs = arg;

	++*runs;
	for (uint32_t i = 0; i < 900; i++) {
		uint8_t key[5] = {'k', (uint8_t)(i >> 8), (uint8_t)i};
		memset(value, (int)i, sizeof value);
		if (!store_put(txn, (struct bytes){key, sizeof key},
			       (struct bytes){value, sizeof value}, err))
			return false;
	}
	return true;
}

size_t numbered(uint32_t i, uint8_t key[8], uint8_t *value)
{
	size_t size = i % 7 ? i % 90 : 1100 + i % 3000;

	snprintf((char *)key, 8, "%c%05u", 'a' + (int)(i % 3), i * 7919 % MANY);
	for (size_t k = 0; k < size; k++)
		value[k] = (uint8_t)(i + k * 31);
	return size;
}

bool put_numbered(struct store_txn *txn, void *arg, struct error *err)
{
	const uint32_t *range = arg;
	static uint8_t value[4200];
	uint8_t key[8];

	for (uint32_t i = range[0]; i < range[1]; i++) {
		size_t size = numbered(i, key, value);
		if (!store_put(txn, (struct bytes){key, 6}, (struct bytes){value, size}, err))
			return false;
	}
	return true;
}

void write_numbered(struct store *store, uint32_t begin, uint32_t end)
{
	uint32_t range[2] = {begin, end};
	struct error err;

	if (!store_write(store, put_numbered, range, &err))
		fail_msg("%s", err.text);
}

bool is_right(struct store *store, uint32_t there)
{
	static uint8_t value[4200];
	uint8_t key[8];
	struct bytes found, got;
	struct store_txn *txn;
	struct error err;
	bool sound = true;

	if (!store_read(store, &txn, &err))
		return false;
	for (uint32_t i = 0; sound && i < MANY; i++) {
		size_t size = numbered(i, key, value);
		bool any = store_get(txn, (struct bytes){key, 6}, &got);
		bool same = any && got.size == size && !memcmp(got.data, value, size);
		bool before = store_before(txn, (struct bytes){key, 6}, true, &found, &got);
		bool equal = before && found.size == 6 && !memcmp(found.data, key, 6);
		sound = store_sound(txn);
		if (!sound)
			break;
		assert_int_equal(any, i < there);
		assert_int_equal(same, i < there);
		assert_int_equal(equal, i < there);
	}
	store_read_end(txn);
	return sound;
}

off_t bytes_on_disk(const char *dir, size_t *count)
{
	char names[64][300];
	off_t sum = 0;

	*count = list_segments(dir, names);
	for (size_t i = 0; i < *count; i++) {
		struct stat st;
		assert_int_equal(stat(names[i], &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		sum += st.st_size;
	}
	return sum;
}

void spoil(const char *path, off_t at, uint8_t bits)
{
	int fd = open(path, O_RDWR);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= bits;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}
