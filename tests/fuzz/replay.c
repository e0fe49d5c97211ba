/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over every file of a corpus, as an ordinary test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *dir, const char *name)
{
	char path[4096];
	uint8_t *data;
	size_t len;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "re");
	if (!file) {
		perror(path);
		return -1;
	}
	data = malloc(1 << 20);
	len = data ? fread(data, 1, 1 << 20, file) : 0;
	(void)fclose(file);
	(void)printf("%s: %zu bytes\n", name, len);
	if (data)
		(void)LLVMFuzzerTestOneInput(data, len);
	free(data);
	return data ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct dirent *entry;
	size_t n = 0;
	DIR *dir;

	dir = argc == 2 ? opendir(argv[1]) : NULL;
	if (!dir) {
		(void)fprintf(stderr, "usage: %s CORPUS-DIR\n", argv[0]);
		return EXIT_FAILURE;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (replay(argv[1], entry->d_name) < 0)
			return EXIT_FAILURE;
		n++;
	}
	(void)closedir(dir);
	return n ? EXIT_SUCCESS : EXIT_FAILURE; /* an empty corpus tests nothing */
}
