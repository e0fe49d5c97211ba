/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A node for tests: a clock that tests move, a sink that keeps what was logged, a directory with
 * the file of a simulated machine, and waiting by the node's own descriptor.
 */

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include <hami/hamidp.h>

#include "node-internal.h"

static uint64_t clock_us;
static char logged[1 << 16]; /* lines at LOG_ERR and LOG_WARNING */
static size_t n_logged;
static char dir[] = "/tmp/hamidp-test-XXXXXX";
static char file_path[sizeof(dir) + 16];
static struct hamidp_reason *why;

static inline uint64_t fixture_now(void *userdata)
{
	return clock_us;
}

static inline void fixture_log(void *userdata, int priority, const char *func, const char *message)
{
	size_t used = strlen(logged);

	if (priority > LOG_WARNING)
		return;
	n_logged++;
	(void)snprintf(logged + used, sizeof(logged) - used, "%s\n", message);
}

static inline void fixture_setup(void)
{
	clock_us = 1000 * HDP_SECOND_US;
	logged[0] = '\0';
	n_logged = 0;
	memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(file_path, sizeof(file_path), "%s/machine.json", dir);
	ck_assert_int_eq(hamidp_reason_new(&why), 0);
}

static inline void remove_tree(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char *name = NULL;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		ck_assert_int_gt(asprintf(&name, "%s/%s", path, entry->d_name), 0);
		if (entry->d_type == DT_DIR)
			remove_tree(name);
		else
			(void)unlink(name);
		free(name);
	}
	if (d)
		closedir(d);
	(void)rmdir(path);
}

static inline void fixture_teardown(void)
{
	remove_tree(dir);
	why = hamidp_reason_free(why);
}

/* In place, as an editor that does not rename would. */
static inline void put_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	ck_assert_msg(file != NULL, "cannot write %s: %m", path);
	ck_assert_uint_eq(fwrite(text, 1, strlen(text), file), strlen(text));
	ck_assert_int_eq(fclose(file), 0);
}

static inline void replace_file(const char *path, const char *text)
{
	char *temporary = NULL;

	ck_assert_int_gt(asprintf(&temporary, "%s.new", path), 0);
	put_file(temporary, text);
	ck_assert_int_eq(rename(temporary, path), 0);
	free(temporary);
}

/* @letters: one device each, "GPU-a" ...; upper case is one that the file calls unhealthy. */
static inline const char *machine_text(const char *letters, const char *sim)
{
	static char text[1 << 16];
	size_t n = 0;

	n += (size_t)snprintf(text + n, sizeof(text) - n,
			      "{\"schema\":\"hami.inventory/1\",\"driver\":{\"name\":\"sim\"},"
			      "\"devices\":[");
	for (size_t i = 0; letters[i]; i++) {
		int letter = letters[i] | 0x20;

		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "%s{\"uuid\":\"GPU-%c\",\"index\":%d,"
				      "\"pci\":\"0000:%02x:00.0\",\"memory_mib\":40960,"
				      "\"health\":\"%s\"}",
				      i ? "," : "", letter, letter - 'a', letter - 'a',
				      letter == letters[i] ? "healthy" : "unhealthy");
	}
	n += (size_t)snprintf(text + n, sizeof(text) - n, "]%s%s}", sim[0] ? ",\"sim\":" : "", sim);
	ck_assert_uint_lt(n, sizeof(text));
	return text;
}

/* The file of the simulated machine becomes this one. */
static inline void edit(const char *letters, const char *sim)
{
	replace_file(file_path, machine_text(letters, sim));
}

static inline struct hamidp_policy *new_policy(uint32_t slots)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = slots };
	struct hamidp_policy *policy = NULL;

	ck_assert_int_eq(hamidp_policy_new(&policy), 0);
	ck_assert_int_eq(hamidp_policy_add_resource(policy, "hami.com/vgpu", &slicing, NULL, NULL),
			 0);
	return policy;
}

static inline struct hamidp_node *open_parts(const char *driver, const struct hdp_node_parts *parts,
					     uint32_t flags)
{
	struct hamidp_policy *policy = new_policy(4);
	struct hamidp_node_options opts = {
		.size = sizeof(opts),
		.flags = flags,
		.driver = driver,
		.policy = policy,
		.log_fn = fixture_log,
		.log_priority = LOG_DEBUG,
		.now_fn = fixture_now,
	};
	struct hamidp_node *node = NULL;
	int r = hdp_node_open_with(&opts, parts, &node, why);

	hamidp_policy_free(policy);
	ck_assert_msg(r == 0, "open: %d, %s", r, hamidp_reason_text(why));
	return node;
}

static inline struct hamidp_node *open_sim(const char *spec)
{
	return open_parts(spec, NULL, 0);
}

static inline struct hamidp_node *open_file(void)
{
	char spec[sizeof(file_path) + 8];

	(void)snprintf(spec, sizeof(spec), "sim:%s", file_path);
	return open_sim(spec);
}

/* Do what is due until the node's descriptor is quiet. */
static inline void settle(struct hamidp_node *node)
{
	struct pollfd pfd = { .fd = hamidp_node_fd(node), .events = POLLIN };

	do
		ck_assert_int_eq(hamidp_node_dispatch(node), 0);
	while (poll(&pfd, 1, 0) > 0);
}

/* Wait, in real time, for something to come over the descriptor; then do what is due. */
static inline void wait_for_work(struct hamidp_node *node)
{
	struct pollfd pfd = { .fd = hamidp_node_fd(node), .events = POLLIN };

	ck_assert_int_eq(poll(&pfd, 1, 10000), 1);
	settle(node);
}

static inline void advance(struct hamidp_node *node, uint64_t seconds)
{
	clock_us += seconds * HDP_SECOND_US;
	settle(node);
}

/* Take all queued events; how many are of @type, the last of them in *@ret if it is not NULL. */
static inline size_t take_events(struct hamidp_node *node, enum hamidp_event_type type,
				 struct hamidp_event **ret)
{
	struct hamidp_event *event = NULL;
	size_t n = 0;

	while (hamidp_node_next_event(node, &event) == 0) {
		if (hamidp_event_type(event) != type) {
			event = hamidp_event_free(event);
			continue;
		}
		n++;
		if (!ret) {
			event = hamidp_event_free(event);
			continue;
		}
		hamidp_event_free(*ret);
		*ret = event;
	}
	return n;
}

static inline size_t n_devices(const struct hamidp_node *node)
{
	return hamidp_inventory_n_devices(hamidp_layout_inventory(hamidp_node_layout(node)));
}

/* -1: the device is not there. */
static inline int health_of(const struct hamidp_node *node, const char *uuid)
{
	struct hamidp_inventory *inv = hamidp_layout_inventory(hamidp_node_layout(node));
	size_t pos;

	if (hamidp_inventory_find(inv, uuid, &pos) < 0)
		return -1;
	return (int)hamidp_device_health(hamidp_inventory_device(inv, pos));
}

static inline const char *cause_of(const struct hamidp_node *node, const char *uuid)
{
	struct hamidp_inventory *inv = hamidp_layout_inventory(hamidp_node_layout(node));
	size_t pos;

	ck_assert_int_eq(hamidp_inventory_find(inv, uuid, &pos), 0);
	return hamidp_device_health_cause(hamidp_inventory_device(inv, pos));
}

static inline int state_of(const struct hamidp_node *node)
{
	return hamidp_node_state(node, why);
}

/* A decision for ids separated by blanks. */
static inline struct hamidp_decision *decide(const struct hamidp_node *node, const char *ids)
{
	struct hamidp_decision *decision = NULL;
	const char *list[64];
	char copy[2048];
	char *save = NULL;
	size_t n = 0;

	(void)snprintf(copy, sizeof(copy), "%s", ids);
	for (char *id = strtok_r(copy, " ", &save); id; id = strtok_r(NULL, " ", &save))
		list[n++] = id;
	ck_assert_int_eq(hamidp_decision_new(&decision), 0);
	ck_assert_msg(hamidp_decide_ids(hamidp_node_layout(node), 0, list, n, decision, why) == 0,
		      "%s", hamidp_reason_text(why));
	return decision;
}

static inline int commit_opts(struct hamidp_node *node, const char *ids,
			      const struct hamidp_commit_options *opts, struct hamidp_grant **ret)
{
	struct hamidp_decision *decision = decide(node, ids);
	int r = hamidp_node_commit(node, decision, opts, ret, why);

	hamidp_decision_free(decision);
	return r;
}

/* A grant of these ids, superseding; borrowed from the node. */
static inline struct hamidp_grant *grant_ids(struct hamidp_node *node, const char *ids)
{
	const struct hamidp_commit_options opts = { .size = sizeof(opts),
						    .flags = HAMIDP_COMMIT_SUPERSEDE };
	struct hamidp_grant *grant = NULL;

	ck_assert_msg(commit_opts(node, ids, &opts, &grant) == 0, "%s", hamidp_reason_text(why));
	hamidp_grant_unref(grant);
	return hamidp_node_grant(node, hamidp_node_n_grants(node) - 1);
}

/* The grant's slot ids, separated by blanks. */
static inline const char *slots_of(const struct hamidp_grant *grant)
{
	static char text[4096];

	text[0] = '\0';
	for (size_t i = 0; i < hamidp_grant_n_slots(grant); i++) {
		if (i)
			strncat(text, " ", sizeof(text) - strlen(text) - 1);
		strncat(text, hamidp_grant_slot_id(grant, i), sizeof(text) - strlen(text) - 1);
	}
	return text;
}

static inline const char *holder_of(const struct hamidp_node *node, const char *id)
{
	size_t slot;

	ck_assert_int_eq(hamidp_layout_find_slot(hamidp_node_layout(node), id, &slot), 0);
	return hamidp_occupancy_holder(hamidp_node_occupancy(node), slot);
}

static inline const char *env_of(const struct hamidp_grant *grant, const char *name)
{
	const char *found = NULL;
	const char *value = NULL;

	for (size_t i = 0; hamidp_edits_env(hamidp_grant_edits(grant), i, &found, &value) == 0; i++)
		if (strcmp(found, name) == 0)
			return value;
	return NULL;
}
