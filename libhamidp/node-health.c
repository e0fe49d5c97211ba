/* SPDX-License-Identifier: Apache-2.0 */

/* The healths of a node's devices: what happens to each, its probes, and its record in the store.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "node-internal.h"

struct hdp_node_health *hdp_node_find_health(const struct hamidp_node *node, const char *uuid)
{
	for (size_t i = 0; i < node->n_healths; i++)
		if (strcmp(node->healths[i]->h.uuid, uuid) == 0)
			return node->healths[i];
	return NULL;
}

static void drop(struct hamidp_node *node, size_t i)
{
	free(node->healths[i]);
	node->healths[i] = node->healths[--node->n_healths];
}

/* Devices that left come back under other names for ever: what can be forgotten is. */
void hdp_node_forget_healths(struct hamidp_node *node)
{
	for (size_t i = node->n_healths; i-- > 0;) {
		const struct hdp_node_health *health = node->healths[i];

		if (!health->h.present && !health->probing && health->n_left == 0 &&
		    (hdp_health_forgettable(&health->h) || node->n_healths >= HDP_HEALTHS_MAX) &&
		    !hdp_node_device_held(node, health->h.uuid))
			drop(node, i);
	}
}

int hdp_node_get_health(struct hamidp_node *node, const char *uuid, struct hdp_node_health **ret)
{
	struct hdp_node_health *health = hdp_node_find_health(node, uuid);

	if (health) {
		*ret = health;
		return 0;
	}
	if (node->n_healths == node->cap_healths) {
		size_t cap = node->cap_healths ? 2 * node->cap_healths : 16;
		struct hdp_node_health **grown =
			reallocarray(node->healths, cap, sizeof(struct hdp_node_health *));

		if (!grown)
			return -ENOMEM;
		node->healths = grown;
		node->cap_healths = cap;
	}
	health = calloc(1, sizeof(*health));
	if (!health)
		return -ENOMEM;
	hdp_health_init(&health->h, uuid, node_now_us(node));
	health->recorded.health = HAMIDP_HEALTH_HEALTHY;
	node->healths[node->n_healths++] = health;
	*ret = health;
	return 0;
}

static void changed(struct hamidp_node *node, bool it_did)
{
	if (it_did)
		node->dirty = true;
}

/* The driver named exactly the devices of @said. */
int hdp_node_healths_follow(struct hamidp_node *node, const struct hamidp_inventory *said)
{
	uint64_t now_us = node_now_us(node);
	size_t pos;

	for (size_t i = 0; i < said->n_devices; i++) {
		const struct hdp_device_info *info = &said->devices[i].info;
		struct hdp_node_health *health;
		int r = hdp_node_get_health(node, info->uuid, &health);

		if (r < 0)
			return r;
		changed(node,
			hdp_health_present(&health->h, info->health, info->health_cause, now_us));
	}
	for (size_t i = 0; i < node->n_healths; i++)
		if (hamidp_inventory_find(said, node->healths[i]->h.uuid, &pos) < 0)
			changed(node, hdp_health_absent(&node->healths[i]->h, now_us));
	return 0;
}

void hdp_node_healths_driver(struct hamidp_node *node, enum hdp_silence silence, const char *cause)
{
	uint64_t now_us = node_now_us(node);

	for (size_t i = 0; i < node->n_healths; i++)
		changed(node,
			hdp_health_driver_silence(&node->healths[i]->h, silence, cause, now_us));
}

static void tell_error(struct hamidp_node *node, const char *uuid, uint64_t code,
		       enum hdp_fault_class fault_class)
{
	const struct hdp_event_info info = {
		.type = HAMIDP_EVENT_ERROR,
		.time_us = node_now_us(node),
		.device = uuid,
		.code = code,
	};
	const char *object = uuid[0] ? uuid : node->host->driver->name;

	log_warning(&node->log, "%s: error %" PRIu64 " (%s)", object, code,
		    hdp_fault_class_to_string(fault_class));
	hdp_event_push(&node->events, &info, "%s: error %" PRIu64 " (%s)", object, code,
		       hdp_fault_class_to_string(fault_class));
}

/* An error without a device is every device's. */
void hdp_node_device_error(struct hamidp_node *node, const struct hdp_driver_event *event)
{
	const struct hdp_driver *driver = node->host->driver;
	enum hdp_fault_class fault_class = HDP_FAULT_IGNORE;
	struct hdp_node_health *health = NULL;
	uint64_t now_us = node_now_us(node);

	if (driver->classify)
		fault_class = driver->classify(node->host->priv, event->code);
	tell_error(node, event->uuid, event->code, fault_class);
	/* A device that is being looked for right now is told of before it is seen. */
	if (event->uuid[0] && (node->looking || node->look_wanted) &&
	    node->n_healths < HDP_HEALTHS_MAX &&
	    hdp_node_get_health(node, event->uuid, &health) < 0)
		(void)hdp_node_again(node, -ENOMEM);
	for (size_t i = 0; i < node->n_healths; i++) {
		health = node->healths[i];
		if (!event->uuid[0] || strcmp(health->h.uuid, event->uuid) == 0)
			changed(node,
				hdp_health_fault(&health->h, fault_class, event->code, now_us));
	}
}

static int probe(struct hamidp_node *node, struct hdp_node_health *health)
{
	struct hdp_call *call = NULL;
	int r;

	if (!node->host->driver || health->probing || health->n_left > 0)
		return 0;
	if (!node->host->driver->probe) { /* no news is good news */
		changed(node, hdp_health_probed(&health->h, 0, NULL, node_now_us(node)));
		return 0;
	}
	r = hdp_call_new(node, HDP_CALL_PROBE, health->h.uuid, &call);
	if (r < 0)
		return r;
	health->probing = true;
	hdp_node_submit(node, call);
	return 0;
}

int hdp_node_probe_all(struct hamidp_node *node)
{
	int r = 0;

	for (size_t i = 0; i < node->n_healths && r == 0; i++)
		if (node->healths[i]->h.present)
			r = probe(node, node->healths[i]);
	return r;
}

int hdp_node_probe_due(struct hamidp_node *node)
{
	uint64_t now_us = node_now_us(node);
	int r = 0;

	for (size_t i = 0; i < node->n_healths && r == 0; i++)
		if (hdp_health_deadline_us(&node->healths[i]->h) <= now_us)
			r = probe(node, node->healths[i]);
	return r;
}

void hdp_node_probe_finished(struct hamidp_node *node, struct hdp_call *call)
{
	struct hdp_node_health *health = hdp_node_find_health(node, call->uuid);

	if (!health)
		return;
	health->probing = false;
	changed(node,
		hdp_health_probed(&health->h, call->rc, call->reason.text, node_now_us(node)));
}

/* A call passed a time limit. */
void hdp_node_call_silent(struct hamidp_node *node, struct hdp_call *call)
{
	struct hdp_node_health *health;

	if (!call->uuid[0]) {
		hdp_node_driver_mute(node, call->silence);
		return;
	}
	health = hdp_node_find_health(node, call->uuid);
	if (!health)
		return;
	if (call->silence == HDP_MUTE) {
		health->n_left++;
		if (call->kind == HDP_CALL_PROBE)
			health->probing = false;
	}
	changed(node, hdp_health_device_silence(&health->h, call->silence, node_now_us(node)));
}

/* A call that had passed one came back after all. */
void hdp_node_call_returned(struct hamidp_node *node, struct hdp_call *call)
{
	struct hdp_node_health *health = hdp_node_find_health(node, call->uuid);

	if (!health || call->silence == HDP_ANSWERS)
		return;
	if (call->silence == HDP_MUTE && health->n_left > 0)
		health->n_left--;
	changed(node, hdp_health_device_silence(&health->h, HDP_ANSWERS, node_now_us(node)));
}

static bool is_recorded(const struct hdp_node_health *health, const struct hdp_health_record *rec)
{
	return health->recorded.health == rec->health &&
	       health->recorded.fault_class == rec->fault_class &&
	       (rec->fault_class == HDP_FAULT_IGNORE || health->recorded.since_us == rec->since_us);
}

/* A record that cannot be written is tried again at the next change. */
void hdp_node_record_healths(struct hamidp_node *node)
{
	struct hamidp_reason reason = { 0 };

	for (size_t i = 0; i < node->n_healths; i++) {
		struct hdp_node_health *health = node->healths[i];
		struct hdp_health_record rec;
		int r;

		hdp_health_record(&health->h, &rec);
		if (is_recorded(health, &rec))
			continue;
		r = node->store->ops->put_health(node->store, &rec, &reason);
		if (r < 0) {
			log_warning(&node->log, "%s: health not recorded: %s", rec.uuid,
				    reason.text);
			continue;
		}
		health->recorded.health = rec.health;
		health->recorded.fault_class = rec.fault_class;
		health->recorded.since_us = rec.since_us;
	}
}

static int restore_one(void *userdata, const struct hdp_health_record *rec)
{
	struct hamidp_node *node = userdata;
	struct hdp_node_health *health;
	int r;

	if (node->n_healths >= HDP_HEALTHS_MAX || strlen(rec->uuid) > HDP_UUID_MAX)
		return 0;
	r = hdp_node_get_health(node, rec->uuid, &health);
	if (r < 0)
		return r;
	hdp_health_restore(&health->h, rec, node_now_us(node));
	health->recorded.health = rec->health;
	health->recorded.fault_class = rec->fault_class;
	health->recorded.since_us = rec->since_us;
	return 0;
}

int hdp_node_restore_healths(struct hamidp_node *node)
{
	return node->store->ops->each_health(node->store, restore_one, node);
}

void hdp_node_healths_done(struct hamidp_node *node)
{
	for (size_t i = 0; i < node->n_healths; i++)
		free(node->healths[i]);
	free(node->healths);
}
