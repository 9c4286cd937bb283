/*
 * server.c - runs many command lines of yore, those of a case in a forked process, without exec
 *
 * Loading yore's libraries takes longer than its answer about a small trace. This program is yore
 * with another main(): it is loaded once, and forks for each request. The child runs the request's
 * commands one after the other through yore's own main(), each with its standard streams in files.
 *
 *     request, on standard input, each part ended by a NUL byte:
 *             folder, to be worked in; folder for answers; number of commands;
 *             for each command: its standard input, number of words, the words
 *     answer, on standard output: a line for each command: its exit status;
 *             then "end", the child's wait status, its peak memory in KB, its CPU time in us
 *
 * Command i leaves i.out and i.err in the folder for answers. What it wrote into the folder it
 * worked in is moved there, too, as i.NAME.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* yore's main() under another name */
#define main yore_main
int yore_main(int argc, char **argv);
#include "repl/main.c"
#undef main

enum { MAX_WORDS = 64, ANSWER_FD = 900 };

struct command {
	char *given; /* standard input */
	int argc;
	char *argv[MAX_WORDS + 1];
};

struct request {
	char *folder, *answers;
	size_t count;
	struct command *commands;
};

_Noreturn static void fail(const char *what)
{
	perror(what);
	_exit(99);
}

/* Reads the next part of a request; NULL: end of input. The caller frees it. */
static char *read_part(void)
{
	char *part = NULL;
	size_t capacity = 0;

	if (getdelim(&part, &capacity, 0, stdin) >= 0)
		return part;
	free(part);
	return NULL;
}

static char *need_part(void)
{
	char *part = read_part();

	if (!part)
		fail("a request is cut short");
	return part;
}

static size_t read_number(size_t most)
{
	char *part = need_part();
	unsigned long number = strtoul(part, NULL, 10);

	free(part);
	if (number > most)
		fail("a number of a request is too large");
	return number;
}

static void read_command(struct command *command)
{
	static char name[] = "yore";

	command->given = need_part();
	command->argc = (int)read_number(MAX_WORDS - 1) + 1;
	command->argv[0] = name;
	for (int i = 1; i < command->argc; i++)
		command->argv[i] = need_part();
	command->argv[command->argc] = NULL;
}

static bool read_request(struct request *request)
{
	request->folder = read_part();
	if (!request->folder)
		return false;
	request->answers = need_part();
	request->count = read_number(10000);
	request->commands = calloc(request->count + 1, sizeof *request->commands);
	if (!request->commands)
		fail("calloc");
	for (size_t i = 0; i < request->count; i++)
		read_command(&request->commands[i]);
	return true;
}

static void free_request(struct request *request)
{
	for (size_t i = 0; i < request->count; i++) {
		for (int w = 1; w < request->commands[i].argc; w++)
			free(request->commands[i].argv[w]);
		free(request->commands[i].given);
	}
	free(request->commands);
	free(request->folder);
	free(request->answers);
}

static char *path_of(const char *folder, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		fail("asprintf");
	return path;
}

static char *answer_path(const struct request *request, size_t i, const char *name)
{
	char *numbered, *path;

	if (asprintf(&numbered, "%zu.%s", i, name) < 0)
		fail("asprintf");
	path = path_of(request->answers, numbered);
	free(numbered);
	return path;
}

static void put_stream(char *path, int flags, int as)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0 || dup2(fd, as) < 0)
		fail(path);
	if (fd != as)
		close(fd);
	free(path);
}

static void put_streams(const struct request *request, size_t i)
{
	char *given = answer_path(request, i, "given");
	FILE *file = fopen(given, "w");

	if (!file || fputs(request->commands[i].given, file) < 0 || fclose(file) != 0)
		fail(given);
	put_stream(given, O_RDONLY, STDIN_FILENO);
	put_stream(answer_path(request, i, "out"), O_CREAT | O_TRUNC | O_WRONLY, STDOUT_FILENO);
	put_stream(answer_path(request, i, "err"), O_CREAT | O_TRUNC | O_WRONLY, STDERR_FILENO);
	fseek(stdin, 0, SEEK_SET); /* drops bytes buffered from the previous file */
	clearerr(stdin);
}

/* Moves files that a command wrote beside the trace to the answers. */
static void move_written(const struct request *request, size_t i)
{
	static const char *const stay[] = {".", "..", "trace", "index", "exchange", "tmp", "home"};
	DIR *folder = opendir(".");
	const struct dirent *entry;

	if (!folder)
		fail(request->folder);
	while ((entry = readdir(folder))) {
		char *to, *name;
		bool stays = false;

		for (size_t k = 0; k < sizeof stay / sizeof *stay; k++)
			stays = stays || strcmp(entry->d_name, stay[k]) == 0;
		if (stays)
			continue;
		name = path_of("written", entry->d_name);
		name[strlen("written")] = '.';
		to = answer_path(request, i, name);
		if (rename(entry->d_name, to) != 0)
			fail(to);
		free(name);
		free(to);
	}
	closedir(folder);
}

static void set_folder(const char *variable, const char *folder, const char *name)
{
	char *path = path_of(folder, name);

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		fail(path);
	setenv(variable, path, 1);
	free(path);
}

static void set_environment(const struct request *request)
{
	set_folder("TMPDIR", request->folder, "tmp");
	set_folder("HOME", request->folder, "home");
	set_folder("XDG_CACHE_HOME", request->folder, "home/cache");
	set_folder("XDG_STATE_HOME", request->folder, "home");
	set_folder("XDG_CONFIG_HOME", request->folder, "home");
}

static void limit(rlim_t cpu_seconds)
{
	const struct rlimit cpu = {cpu_seconds, cpu_seconds + 5}, core = {0, 0};

	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &core);
	alarm((unsigned)cpu_seconds * 30); /* wall time limit for a loaded machine */
}

_Noreturn static void serve(const struct request *request, rlim_t cpu_seconds)
{
	if (dup2(STDOUT_FILENO, ANSWER_FD) < 0 || fcntl(ANSWER_FD, F_SETFD, FD_CLOEXEC) != 0)
		fail("dup2");
	set_environment(request);
	if (chdir(request->folder) != 0)
		fail(request->folder);
	limit(cpu_seconds);
	for (size_t i = 0; i < request->count; i++) {
		struct command *command = &request->commands[i];
		int status;

		put_streams(request, i);
		status = yore_main(command->argc, command->argv);
		fflush(stdout);
		fflush(stderr);
		move_written(request, i);
		dprintf(ANSWER_FD, "%d\n", status);
	}
	exit(0); /* runs the leak checker */
}

int main(int argc, char **argv)
{
	rlim_t cpu_seconds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
	struct request request;

	while (read_request(&request)) {
		struct rusage usage;
		int status;
		pid_t child = fork();

		if (child < 0)
			fail("fork");
		if (child == 0)
			serve(&request, cpu_seconds);
		if (wait4(child, &status, 0, &usage) != child)
			fail("wait4");
		printf("end %d %ld %lld\n", status, usage.ru_maxrss,
		       (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL +
			       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
		fflush(stdout);
		free_request(&request);
	}
	return 0;
}
