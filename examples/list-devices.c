/* SPDX-License-Identifier: Apache-2.0 */

/* List this machine's devices and the slots that a policy cuts them into. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <hami/hamidp.h>

static void print_device(const struct hamidp_layout *layout, size_t pos)
{
	const struct hamidp_inventory *inv = hamidp_layout_inventory(layout);
	const struct hamidp_device *dev = hamidp_inventory_device(inv, pos);
	size_t first = hamidp_layout_device_first_slot(layout, pos);
	uint32_t n = hamidp_layout_device_n_slots(layout, pos);

	printf("%s  %s  %" PRIu64 " MiB  %s\n", hamidp_device_uuid(dev), hamidp_device_model(dev),
	       hamidp_device_memory_mib(dev), hamidp_health_to_string(hamidp_device_health(dev)));
	if (hamidp_layout_device_notice(layout, pos))
		printf("  %s\n", hamidp_layout_device_notice(layout, pos));
	for (uint32_t i = 0; i < n; i++)
		printf("  %s  %" PRIu64 " MiB  %" PRIu32 " ppm\n",
		       hamidp_layout_slot_id(layout, first + i),
		       hamidp_layout_slice_memory_mib(layout, pos, 1),
		       hamidp_layout_slice_share_ppm(layout, pos, 1));
}

static int list(const char *driver, uint32_t slots, struct hamidp_reason *reason)
{
	struct hamidp_slicing slicing = { .size = sizeof(slicing), .slots = slots };
	struct hamidp_node_options opts = { .size = sizeof(opts) };
	struct hamidp_policy *policy = NULL;
	struct hamidp_node *node = NULL;
	int r;

	r = hamidp_policy_new(&policy);
	if (r == 0)
		r = hamidp_policy_add_resource(policy, "hami.com/vgpu", &slicing, NULL, reason);
	opts.flags = HAMIDP_NODE_NO_EVENTS;
	opts.driver = driver;
	opts.policy = policy;
	if (r == 0)
		r = hamidp_node_open(&opts, &node, reason);
	if (r == 0)
		r = hamidp_node_state(node, reason);
	if (r == 0) {
		struct hamidp_layout *layout = hamidp_node_layout(node);
		size_t n = hamidp_inventory_n_devices(hamidp_layout_inventory(layout));

		for (size_t pos = 0; pos < n; pos++)
			print_device(layout, pos);
	}
	hamidp_node_close(node);
	hamidp_policy_free(policy);
	return r;
}

int main(int argc, char **argv)
{
	struct hamidp_reason *reason = NULL;
	int r = hamidp_reason_new(&reason);

	if (r == 0)
		r = list(argc > 1 ? argv[1] : "sim:article", 8, reason);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", hamidp_strerror(r),
			reason ? hamidp_reason_text(reason) : "");
	hamidp_reason_free(reason);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
