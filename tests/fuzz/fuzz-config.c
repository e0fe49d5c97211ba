/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a configuration file: refused with one line, or read. What was read obeys the limits
 * that the rest of the daemon relies on.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "complaint.h"
#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int condition)
{
	if (!condition)
		abort();
}

static void check_slicing(const struct config_slicing *slicing)
{
	must(slicing->slots <= HAMIDP_SLOTS_MAX);
	must(!slicing->memory_ratio_ppm || slicing->memory_ratio_ppm >= HAMIDP_PPM);
	must(!slicing->cores_ratio_ppm || slicing->cores_ratio_ppm <= HAMIDP_RATIO_MAX_PPM);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct complaint complaint = { "" };
	struct config *config = NULL;

	if (config_parse((const char *)data, size, "f", "node-1", &config, &complaint) < 0) {
		must(!config && complaint.text[0] && !strchr(complaint.text, '\n'));
		return 0;
	}
	must(config->n_resources <= CONFIG_RESOURCES_MAX);
	must(config->n_overrides <= CONFIG_OVERRIDES_MAX);
	for (size_t i = 0; i < config->n_resources; i++) {
		must(config->resources[i].name[0] != '\0');
		check_slicing(&config->resources[i].slicing);
	}
	for (size_t i = 0; i < config->n_overrides; i++) {
		must(config->overrides[i].match.value[0] != '\0');
		check_slicing(&config->overrides[i].slicing);
	}
	config_free(config);
	return 0;
}
