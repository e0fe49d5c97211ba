/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Machines from tests/data/topologies; the format is in its README. */

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "machine.h"

#define TOPOLOGY_MAX 24

struct topology_file {
	char name[64];
	size_t n;
	char bdf[TOPOLOGY_MAX][16];
	int32_t numa[TOPOLOGY_MAX];
	uint32_t lanes[TOPOLOGY_MAX][TOPOLOGY_MAX];
	enum hamidp_pcie_level pcie[TOPOLOGY_MAX][TOPOLOGY_MAX];
};

static inline enum hamidp_pcie_level topology_level(const char *word)
{
	static const enum hamidp_pcie_level levels[] = { HAMIDP_PCIE_PIX, HAMIDP_PCIE_PXB,
							 HAMIDP_PCIE_PHB, HAMIDP_PCIE_NODE,
							 HAMIDP_PCIE_SYS };

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (strcmp(word, hamidp_pcie_level_to_string(levels[i])) == 0)
			return levels[i];
	ck_assert_str_eq(word, "X");
	return HAMIDP_PCIE_UNKNOWN;
}

static inline char *topology_word(FILE *file, char word[static 64])
{
	size_t len = 0;
	int c = fgetc(file);

	while (c == '#' || c == ' ' || c == '\n') {
		while (c == '#' && (c = fgetc(file)) != '\n' && c != EOF)
			c = '#';
		c = fgetc(file);
	}
	for (; c != EOF && c != ' ' && c != '\n' && len < 63; c = fgetc(file))
		word[len++] = (char)c;
	word[len] = '\0';
	return word;
}

static inline long topology_number(FILE *file)
{
	char word[64], *end;
	long value = strtol(topology_word(file, word), &end, 10);

	ck_assert_msg(end != word && *end == '\0', "'%s' is no number", word);
	return value;
}

static inline void topology_read(const char *name, struct topology_file *t)
{
	char path[4096], word[64];
	FILE *file;

	*t = (struct topology_file){ .n = 0 };
	(void)snprintf(t->name, sizeof(t->name), "%s", name);
	(void)snprintf(path, sizeof(path), "%s/topologies/%s.txt", getenv("HAMIDP_TEST_DATA"),
		       name);
	file = fopen(path, "re");
	ck_assert_msg(file, "%s", path);
	while (*topology_word(file, word)) {
		if (strcmp(word, "gpus") == 0) {
			t->n = (size_t)topology_number(file);
			ck_assert_uint_le(t->n, TOPOLOGY_MAX);
		}
		for (size_t i = 0; strcmp(word, "bdf") == 0 && i < t->n; i++) {
			char bdf[64];

			(void)snprintf(t->bdf[i], sizeof(t->bdf[i]), "%.15s",
				       topology_word(file, bdf));
		}
		for (size_t i = 0; strcmp(word, "numa") == 0 && i < t->n; i++)
			t->numa[i] = (int32_t)topology_number(file);
		for (size_t i = 0; strcmp(word, "link") == 0 && i < t->n * t->n; i++)
			t->lanes[i / t->n][i % t->n] = (uint32_t)topology_number(file);
		for (size_t i = 0; strcmp(word, "pcie") == 0 && i < t->n * t->n; i++) {
			char level[64];

			t->pcie[i / t->n][i % t->n] = topology_level(topology_word(file, level));
		}
	}
	(void)fclose(file);
	for (size_t i = 0; i < t->n; i++)
		if (!t->bdf[i][0])
			(void)snprintf(t->bdf[i], sizeof(t->bdf[i]), "0000:%02x:00.0",
				       (unsigned char)(i + 1));
}

static inline void topology_add_link(const struct topology_file *t, size_t a, size_t b,
				     struct hdp_machine *machine)
{
	struct hdp_link_info link = { .pcie = t->pcie[a][b], .lanes = t->lanes[a][b] };

	if (a == b)
		return;
	link.type = link.lanes ? HAMIDP_LINK_NVLINK : HAMIDP_LINK_NONE;
	ck_assert_int_gt(asprintf(&link.a, "GPU-%zu", a), 0);
	ck_assert_int_gt(asprintf(&link.b, "GPU-%zu", b), 0);
	ck_assert_int_eq(hdp_machine_add_link(machine, &link), 0);
}

/* Devices and links are stated in the order of @order, or as they are (NULL). */
static inline struct hamidp_inventory *topology_inventory(const struct topology_file *t,
							  const size_t *order)
{
	struct hdp_machine machine = { .n_devices = 0 };
	struct hamidp_inventory *inv = NULL;

	for (size_t k = 0; k < t->n; k++) {
		struct hdp_device_info info = HDP_DEVICE_INFO_INIT;
		size_t i = order ? order[k] : k;

		ck_assert_int_gt(asprintf(&info.uuid, "GPU-%zu", i), 0);
		info.pci = strdup(t->bdf[i]);
		info.index = (int64_t)i;
		info.memory_mib = 81920;
		info.numa_node = t->numa[i];
		info.health = HAMIDP_HEALTH_HEALTHY;
		ck_assert_int_eq(hdp_machine_add_device(&machine, &info), 0);
	}
	for (size_t k = 0; k < t->n * t->n; k++) {
		size_t a = k / t->n, b = k % t->n;

		topology_add_link(t, order ? order[a] : a, order ? order[b] : b, &machine);
	}
	ck_assert_int_eq(hdp_machine_seal(&machine, &inv, NULL), 0);
	return inv;
}
