/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over the files of the directories named, as an ordinary test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define INPUT_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *dir, const char *name)
{
	uint8_t *data = malloc(INPUT_MAX);
	char *path;
	size_t len;
	FILE *f;

	if (!data || asprintf(&path, "%s/%s", dir, name) < 0)
		abort();
	f = fopen(path, "re");
	free(path);
	if (!f) {
		perror(name);
		free(data);
		return 1;
	}
	len = fread(data, 1, INPUT_MAX, f);
	(void)fclose(f);
	(void)LLVMFuzzerTestOneInput(data, len);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned n = 0;
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);

		if (!d) {
			perror(argv[i]);
			return 1;
		}
		for (struct dirent *entry = readdir(d); entry; entry = readdir(d))
			if (entry->d_name[0] != '.') {
				failed |= run_file(argv[i], entry->d_name);
				n++;
			}
		(void)closedir(d);
	}
	(void)printf("%u inputs\n", n);
	return failed || n == 0;
}
