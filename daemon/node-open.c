/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the node as configured. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <syslog.h>

#include <hami/hamidp.h>

#include "clock.h"
#include "complaint.h"
#include "log.h"
#include "node-open.h"
#include "options.h"
#include "policy.h"

/* While it opens, what went wrong comes back as a reason too, and is said once. */
static bool is_opening;

static void log_library(void *userdata, int priority, const char *func, const char *message)
{
	const bool *opening = userdata;

	(void)func;
	if (priority == LOG_NOTICE || priority == LOG_INFO)
		return; /* all of it comes as events too */
	if (!*opening || priority > LOG_ERR)
		log_at(priority, "%s", message);
}

static enum daemon_exit open_with(const struct options *opts, const struct hamidp_policy *policy,
				  struct hamidp_reason *reason, struct hamidp_node **ret)
{
	struct hamidp_node_options node_opts = {
		.size = sizeof(node_opts),
		.driver = options_text(opts, OPTION_DRIVER),
		.driver_root = options_text(opts, OPTION_DRIVER_ROOT),
		.sysroot = options_text(opts, OPTION_SYSROOT),
		.policy = policy,
		.log_fn = log_library,
		.log_userdata = &is_opening,
		.log_priority = options_verbosity(opts) >= 4 ? LOG_DEBUG : LOG_INFO,
		.now_fn = clock_now_fn,
	};
	int r;

	is_opening = true;
	r = hamidp_node_open(&node_opts, ret, reason);
	is_opening = false;
	if (r == 0)
		return DAEMON_OK;
	log_err("%s",
		hamidp_reason_text(reason)[0] ? hamidp_reason_text(reason) : hamidp_strerror(r));
	return r == -EINVAL || r == -ENOENT ? DAEMON_USAGE : DAEMON_FAILED;
}

enum daemon_exit node_open(const struct options *opts, struct hamidp_node **ret)
{
	struct hamidp_policy *policy = NULL;
	struct hamidp_reason *reason = NULL;
	struct complaint complaint = { "" };
	enum daemon_exit exit_status;
	int r;

	r = policy_from_options(opts, &policy, &complaint);
	if (r < 0) {
		log_err("%s", complaint.text);
		return r == -ENOMEM ? DAEMON_FAILED : DAEMON_USAGE;
	}
	if (hamidp_reason_new(&reason) < 0) {
		log_err("out of memory");
		exit_status = DAEMON_FAILED;
	} else {
		exit_status = open_with(opts, policy, reason, ret);
	}
	hamidp_reason_free(reason);
	hamidp_policy_free(policy);
	return exit_status;
}

/* Why a card is left out or shrunk the library has said. */
static void log_card(const struct hamidp_layout *layout, size_t pos)
{
	const struct hamidp_inventory *inv = hamidp_layout_inventory(layout);
	const struct hamidp_device *card = hamidp_inventory_device(inv, pos);

	log_debug("%s: %s, PCI %s, NUMA node %" PRId32 ", %" PRIu64 " MiB, %" PRIu32
		  " slots of %" PRIu64 " MiB, %s",
		  hamidp_device_uuid(card), hamidp_device_model(card), hamidp_device_pci(card),
		  hamidp_device_numa_node(card), hamidp_device_memory_mib(card),
		  hamidp_layout_device_n_slots(layout, pos),
		  hamidp_layout_slice_memory_mib(layout, pos, 1),
		  hamidp_health_to_string(hamidp_device_health(card)));
}

void node_log_layout(const struct hamidp_layout *layout)
{
	const struct hamidp_inventory *inv = hamidp_layout_inventory(layout);
	size_t n_cards = hamidp_inventory_n_devices(inv);

	for (size_t i = 0; i < n_cards; i++)
		log_card(layout, i);
	for (size_t i = 0; i < hamidp_layout_n_resources(layout); i++)
		log_info("%s: %zu slots on this node's %zu GPU(s), driver %s",
			 hamidp_layout_resource_name(layout, i),
			 hamidp_layout_resource_n_slots(layout, i), n_cards,
			 hamidp_inventory_driver_name(inv));
}
