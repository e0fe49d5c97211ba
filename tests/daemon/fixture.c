/* SPDX-License-Identifier: Apache-2.0 */
/* Opens nodes for tests the way the daemon does. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hami/hamidp.h>

#include "complaint.h"
#include "fixture.h"
#include "log.h"
#include "node-open.h"
#include "options.h"

void fixture_init(struct fixture *fix)
{
	*fix = (struct fixture){ 0 };
	(void)snprintf(fix->dir, sizeof(fix->dir), "/tmp/test-node-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(fix->dir));
	(void)snprintf(fix->machine, sizeof(fix->machine), "%s/machine.json", fix->dir);
	(void)snprintf(fix->config, sizeof(fix->config), "%s/config.yaml", fix->dir);
	fixture_write_config(fix, "version: 1\n");
	dp_arena_init(&fix->arena, DP_ARENA_BUDGET);
}

void fixture_done(struct fixture *fix)
{
	log_set_sink(NULL, NULL);
	log_set_verbosity(2);
	hamidp_node_close(fix->node);
	options_free(fix->opts);
	dp_arena_done(&fix->arena);
	if (fix->log_file)
		(void)fclose(fix->log_file);
	free(fix->log);
	(void)unlink(fix->machine);
	(void)unlink(fix->config);
	ck_assert_int_eq(rmdir(fix->dir), 0);
}

void fixture_write_config(struct fixture *fix, const char *text)
{
	FILE *out = fopen(fix->config, "we");

	ck_assert_ptr_nonnull(out);
	ck_assert_int_ge(fputs(text, out), 0);
	ck_assert_int_eq(fclose(out), 0);
}

static void print_card(FILE *out, const struct fixture_card *card, size_t i)
{
	(void)fprintf(out, "%s\n{\"uuid\": \"%s\", \"index\": %zu, \"minor\": %zu, ", i ? "," : "",
		      card->uuid, i, i);
	if (card->pci)
		(void)fprintf(out, "\"pci\": \"%s\", ", card->pci);
	if (card->numa_node >= 0)
		(void)fprintf(out, "\"numa_node\": %d, \"cpus\": \"0-7\", ", card->numa_node);
	(void)fprintf(out,
		      "\"memory_mib\": %" PRIu64 ", \"health\": \"%s\", \"device_nodes\": "
		      "[{\"host\": \"/dev/null\", \"container\": \"/dev/hamivgpu%zu\", "
		      "\"permissions\": \"rw\"}]}",
		      card->memory_mib, card->health ? card->health : "healthy", i);
}

void fixture_write_machine(struct fixture *fix, const struct fixture_card *cards, size_t n_cards)
{
	char path[112];
	FILE *out;

	(void)snprintf(path, sizeof(path), "%s.new", fix->machine);
	out = fopen(path, "we");
	ck_assert_ptr_nonnull(out);
	(void)fputs("{\"schema\": \"hami.inventory/1\", \"driver\": {\"name\": \"sim\", "
		    "\"version\": \"1.0\"}, \"devices\": [",
		    out);
	for (size_t i = 0; i < n_cards; i++)
		print_card(out, &cards[i], i);
	(void)fputs("]}\n", out);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_int_eq(rename(path, fix->machine), 0);
}

void fixture_open(struct fixture *fix, const char *const *flags)
{
	char config[128], driver[128];
	static char name[] = "hami-dp";
	char *argv[20] = { name, config, driver };
	char *envp[] = { NULL };
	struct complaint why = { "" };
	int argc = 3;

	(void)snprintf(config, sizeof(config), "--config=%s", fix->config);
	(void)snprintf(driver, sizeof(driver), "--driver=sim:%s", fix->machine);
	for (size_t i = 0; flags && flags[i] && argc < 19; i++)
		argv[argc++] = (char *)flags[i];
	ck_assert_msg(options_load(argc, argv, envp, &fix->opts, &why) == 0, "%s", why.text);
	ck_assert_int_eq(node_open(fix->opts, &fix->node), DAEMON_OK);
}

struct hamidp_layout *fixture_layout(const struct fixture *fix)
{
	return hamidp_node_layout(fix->node);
}

static void keep_line(int priority, const char *message, void *userdata)
{
	(void)fprintf(userdata, "%s\n", message);
}

void fixture_catch_log(struct fixture *fix, int verbosity)
{
	fix->log_file = open_memstream(&fix->log, &fix->log_len);
	ck_assert_ptr_nonnull(fix->log_file);
	log_set_verbosity(verbosity);
	log_set_sink(keep_line, fix->log_file);
}

size_t fixture_count_log(struct fixture *fix, const char *text)
{
	size_t n = 0;

	ck_assert_int_eq(fflush(fix->log_file), 0);
	for (const char *p = fix->log; p && (p = strstr(p, text)); n++) {
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	return n;
}

struct dp_service *fixture_service(struct fixture *fix, const char *resource)
{
	struct dp_service *service = NULL;

	ck_assert_int_eq(dp_service_new(fix->node, resource, &service), 0);
	return service;
}

enum rpc_status fixture_allocate(struct fixture *fix, struct dp_service *service,
				 const char *const *ids, size_t n_ids,
				 struct dp_container_response *ret)
{
	const struct dp_ids container = { .ids = ids, .n_ids = n_ids };
	const struct dp_allocate_request request = { .containers = &container, .n_containers = 1 };
	struct dp_allocate_response response = { 0 };
	enum rpc_status status;

	fix->text[0] = '\0';
	dp_arena_reset(&fix->arena);
	status = dp_service_allocate(service, &fix->arena, &request, &response, fix->text);
	if (status == RPC_OK) {
		ck_assert_uint_eq(response.n_containers, 1);
		*ret = response.containers[0];
	}
	return status;
}

const char *fixture_env(const struct dp_container_response *response, const char *name)
{
	for (size_t i = 0; i < response->n_envs; i++)
		if (!strcmp(response->envs[i].key, name))
			return response->envs[i].value;
	return NULL;
}
