/* SPDX-License-Identifier: Apache-2.0 */

/* Take two slots of this machine for a container, show what it must get, and give them back. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <hami/hamidp.h>

static void print_edits(const struct hamidp_edits *edits)
{
	struct hamidp_device_node dev = { .size = sizeof(dev) };
	const char *name = NULL;
	const char *value = NULL;
	int read_only = 0;

	for (size_t i = 0; hamidp_edits_env(edits, i, &name, &value) == 0; i++)
		printf("env    %s=%s\n", name, value);
	for (size_t i = 0; hamidp_edits_device_node(edits, i, &dev) == 0; i++)
		printf("device %s from %s (%s)\n", dev.container_path, dev.host_path,
		       dev.permissions);
	for (size_t i = 0; hamidp_edits_mount(edits, i, &name, &value, &read_only) == 0; i++)
		printf("mount  %s from %s%s\n", name, value, read_only ? " (read-only)" : "");
}

static int take_and_give_back(struct hamidp_node *node, struct hamidp_request *req,
			      struct hamidp_decision *decision, struct hamidp_reason *reason)
{
	struct hamidp_commit_options opts = { .size = sizeof(opts), .owner = "example" };
	struct hamidp_grant *grant = NULL;
	int r;

	hamidp_request_set_units(req, 2);
	r = hamidp_place(hamidp_node_layout(node), hamidp_node_occupancy(node), req, decision,
			 reason);
	if (r == 0)
		r = hamidp_node_commit(node, decision, &opts, &grant, reason);
	if (r < 0)
		return r;
	printf("grant  %s: %zu slots, %" PRIu64 " MiB\n", hamidp_grant_id(grant),
	       hamidp_grant_n_slots(grant), hamidp_grant_slice_memory_mib(grant, 0));
	print_edits(hamidp_grant_edits(grant));
	r = hamidp_node_release(node, hamidp_grant_id(grant), reason);
	hamidp_grant_unref(grant);
	return r;
}

static int run(const char *driver, struct hamidp_reason *reason)
{
	struct hamidp_node_options opts = { .size = sizeof(opts), .driver = driver };
	struct hamidp_policy *policy = NULL;
	struct hamidp_node *node = NULL;
	struct hamidp_request *req = NULL;
	struct hamidp_decision *decision = NULL;
	int r;

	r = hamidp_policy_new(&policy);
	if (r == 0)
		r = hamidp_policy_add_resource(policy, "hami.com/vgpu", NULL, NULL, reason);
	opts.policy = policy;
	if (r == 0)
		r = hamidp_node_open(&opts, &node, reason);
	if (r == 0)
		r = hamidp_request_new(&req);
	if (r == 0)
		r = hamidp_decision_new(&decision);
	if (r == 0)
		r = take_and_give_back(node, req, decision, reason);
	hamidp_decision_free(decision);
	hamidp_request_free(req);
	hamidp_node_close(node);
	hamidp_policy_free(policy);
	return r;
}

int main(int argc, char **argv)
{
	struct hamidp_reason *reason = NULL;
	int r = hamidp_reason_new(&reason);

	if (r == 0)
		r = run(argc > 1 ? argv[1] : "sim:article", reason);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", hamidp_strerror(r),
			reason ? hamidp_reason_text(reason) : "");
	hamidp_reason_free(reason);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
