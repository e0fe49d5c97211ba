/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A node as the daemon opens it: flags, a configuration file, a simulated machine. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dp-codec.h"
#include "dp-service.h"

struct hamidp_layout;
struct hamidp_node;
struct options;

struct fixture_card {
	const char *uuid;
	const char *pci;
	uint64_t memory_mib;
	int numa_node; /* -1: none */
	const char *health;
};

struct fixture {
	char dir[64];
	char machine[96];
	char config[96];
	struct options *opts;
	struct hamidp_node *node;
	struct dp_arena arena;
	char text[DP_SERVICE_TEXT_MAX]; /* of the last call that failed */
	char *log;			/* every line since fixture_catch_log() */
	size_t log_len;
	void *log_file;
};

/* A directory, an empty configuration, nothing open. */
void fixture_init(struct fixture *fix);
void fixture_done(struct fixture *fix);

void fixture_write_config(struct fixture *fix, const char *text);
/* Takes the place of what is there in one step, as the driver expects it. */
void fixture_write_machine(struct fixture *fix, const struct fixture_card *cards, size_t n_cards);

/* Open with NULL-terminated flags besides --config; "--driver" is the machine unless given. */
void fixture_open(struct fixture *fix, const char *const *flags);
#define FLAGS(...) ((const char *const[]){ __VA_ARGS__, NULL })
struct hamidp_layout *fixture_layout(const struct fixture *fix);

/* Keep what is logged from here on; fixture_done() ends it. */
void fixture_catch_log(struct fixture *fix, int verbosity);
/* Lines that contain @text. */
size_t fixture_count_log(struct fixture *fix, const char *text);

/* One container. */
struct dp_service *fixture_service(struct fixture *fix, const char *resource);
enum rpc_status fixture_allocate(struct fixture *fix, struct dp_service *service,
				 const char *const *ids, size_t n_ids,
				 struct dp_container_response *ret);
/* Value of a variable in an answer, or NULL. */
const char *fixture_env(const struct dp_container_response *response, const char *name);
