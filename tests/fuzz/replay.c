/* SPDX-License-Identifier: Apache-2.0 */

/* Feeds every file of a corpus directory to a fuzz target once, as an ordinary test. */

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
	FILE *file = fopen(path, "re");
	uint8_t *data;
	long size;

	if (!file) {
		perror(path);
		return -1;
	}
	if (fseek(file, 0, SEEK_END) < 0 || (size = ftell(file)) < 0) {
		perror(path);
		fclose(file);
		return -1;
	}
	rewind(file);
	data = malloc(size ? (size_t)size : 1);
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
		perror(path);
		free(data);
		fclose(file);
		return -1;
	}
	fclose(file);
	(void)LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
	unsigned n = 0;

	if (!dir) {
		fprintf(stderr, "usage: replay DIRECTORY\n");
		return EXIT_FAILURE;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		char path[4096];

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		if (replay(path) < 0)
			return EXIT_FAILURE;
		n++;
	}
	closedir(dir);
	printf("%u inputs\n", n);
	return n ? EXIT_SUCCESS : EXIT_FAILURE;
}
