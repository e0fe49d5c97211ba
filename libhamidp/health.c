/* SPDX-License-Identifier: Apache-2.0 */

/* Owns the rules of a device's health. No clock, no I/O, no memory. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "health.h"

const char *hdp_fault_class_to_string(enum hdp_fault_class fault_class)
{
	static const char *const names[] = {
		[HDP_FAULT_IGNORE] = "ignore",
		[HDP_FAULT_APP_RESTART] = "app-restart",
		[HDP_FAULT_RECOVER] = "recover-after-probe",
		[HDP_FAULT_RESET] = "reset",
		[HDP_FAULT_DEAD] = "dead",
	};

	return (size_t)fault_class < ARRAY_SIZE(names) ? names[fault_class] : "unknown";
}

static void set_text(char *dst, const char *src)
{
	(void)snprintf(dst, HDP_CAUSE_MAX, "%s", src ? src : "");
}

static enum hamidp_health decide(const struct hdp_health *h, char *cause)
{
	set_text(cause, "");
	if (!h->present) {
		set_text(cause, "the device is no longer there");
		return HAMIDP_HEALTH_GONE;
	}
	if (h->fault) {
		(void)snprintf(cause, HDP_CAUSE_MAX, "error %" PRIu64 " (%s)", h->fault_code,
			       hdp_fault_class_to_string(h->fault_class));
		return HAMIDP_HEALTH_UNHEALTHY;
	}
	if (h->driver_silence == HDP_MUTE) {
		set_text(cause, h->driver_cause);
		return HAMIDP_HEALTH_UNHEALTHY;
	}
	if (h->device_silence == HDP_MUTE) {
		set_text(cause, "driver does not answer");
		return HAMIDP_HEALTH_UNHEALTHY;
	}
	if (h->said == HAMIDP_HEALTH_UNHEALTHY || h->said == HAMIDP_HEALTH_GONE) {
		set_text(cause, h->said_cause[0] ? h->said_cause : "the driver says so");
		return h->said;
	}
	if (h->probe_failed) {
		set_text(cause, h->probe_cause);
		return HAMIDP_HEALTH_UNHEALTHY;
	}
	if (h->driver_silence == HDP_SILENT || h->device_silence == HDP_SILENT) {
		set_text(cause, h->driver_silence == HDP_SILENT ? h->driver_cause
								: "driver does not answer");
		return HAMIDP_HEALTH_SUSPECT;
	}
	set_text(cause, h->said_cause);
	if (h->said == HAMIDP_HEALTH_UNKNOWN && !cause[0])
		set_text(cause, "the driver does not say how it is");
	return h->said;
}

static bool update(struct hdp_health *h, uint64_t now_us)
{
	char cause[HDP_CAUSE_MAX];
	enum hamidp_health health = decide(h, cause);

	if (health == h->health && strcmp(cause, h->cause) == 0)
		return false;
	if (health != h->health)
		h->since_us = now_us;
	h->health = health;
	set_text(h->cause, cause);
	return true;
}

void hdp_health_init(struct hdp_health *h, const char *uuid, uint64_t now_us)
{
	memset(h, 0, sizeof(*h));
	(void)snprintf(h->uuid, sizeof(h->uuid), "%s", uuid);
	h->next_probe_us = UINT64_MAX;
	h->since_us = now_us;
	(void)update(h, now_us);
}

static uint64_t min_us(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void end_fault(struct hdp_health *h)
{
	h->fault = false;
	h->fault_class = HDP_FAULT_IGNORE;
	h->fault_code = 0;
	h->next_probe_us = UINT64_MAX;
}

bool hdp_health_present(struct hdp_health *h, enum hamidp_health said, const char *cause,
			uint64_t now_us)
{
	if (said == HAMIDP_HEALTH_HEALTHY && h->said != said)
		h->probe_failed = false; /* the driver's word is the later one */
	h->present = true;
	h->said = said;
	set_text(h->said_cause, cause);
	if (h->fault && h->absent_since_fault && h->fault_class != HDP_FAULT_RECOVER)
		end_fault(h);
	return update(h, now_us);
}

bool hdp_health_absent(struct hdp_health *h, uint64_t now_us)
{
	h->present = false;
	h->absent_since_fault = true;
	h->probe_failed = false; /* another probe will tell, once it is back */
	return update(h, now_us);
}

bool hdp_health_fault(struct hdp_health *h, enum hdp_fault_class fault_class, uint64_t code,
		      uint64_t now_us)
{
	if (fault_class == HDP_FAULT_IGNORE || fault_class == HDP_FAULT_APP_RESTART)
		return false;
	if (!h->fault || fault_class >= h->fault_class) { /* the worst stays */
		h->fault_class = fault_class;
		h->fault_code = code;
	}
	h->fault = true;
	h->fault_us = now_us;
	h->absent_since_fault = false;
	h->next_probe_us =
		h->fault_class == HDP_FAULT_RECOVER ? now_us + HDP_PROBE_EVERY_US : UINT64_MAX;
	return update(h, now_us);
}

bool hdp_health_probed(struct hdp_health *h, int rc, const char *cause, uint64_t now_us)
{
	h->device_silence = HDP_ANSWERS;
	if (!h->present) /* it left in between, and will be probed when it is back */
		return update(h, now_us);
	h->probe_failed = rc < 0;
	set_text(h->probe_cause, cause && cause[0] ? cause : "the probe failed");
	h->next_probe_us = rc < 0 ? now_us + HDP_REPROBE_US : UINT64_MAX;
	if (h->fault && h->fault_class == HDP_FAULT_RECOVER) {
		if (rc < 0)
			h->fault_us = now_us; /* the quiet time starts anew */
		if (now_us - h->fault_us >= HDP_QUIET_US)
			end_fault(h);
		else
			h->next_probe_us =
				min_us(now_us + HDP_PROBE_EVERY_US, h->fault_us + HDP_QUIET_US);
	}
	return update(h, now_us);
}

bool hdp_health_device_silence(struct hdp_health *h, enum hdp_silence silence, uint64_t now_us)
{
	h->device_silence = silence;
	return update(h, now_us);
}

bool hdp_health_driver_silence(struct hdp_health *h, enum hdp_silence silence, const char *cause,
			       uint64_t now_us)
{
	h->driver_silence = silence;
	set_text(h->driver_cause, cause);
	return update(h, now_us);
}

uint64_t hdp_health_deadline_us(const struct hdp_health *h)
{
	return h->present ? h->next_probe_us : UINT64_MAX;
}

bool hdp_health_forgettable(const struct hdp_health *h)
{
	return !h->fault || h->fault_class != HDP_FAULT_RECOVER;
}

void hdp_health_record(const struct hdp_health *h, struct hdp_health_record *ret)
{
	*ret = (struct hdp_health_record){
		.uuid = h->uuid,
		.health = h->health,
		.cause = h->cause,
		.since_us = h->fault ? h->fault_us : h->since_us,
		.code = h->fault_code,
		.fault_class = h->fault_class,
	};
}

/*
 * Only a fault outlives the process: all else is seen again at once. The clock may have started
 * anew since; a time that lies ahead is taken as now.
 */
void hdp_health_restore(struct hdp_health *h, const struct hdp_health_record *rec, uint64_t now_us)
{
	enum hdp_fault_class fault_class = HDP_FAULT_DEAD;

	if (rec->fault_class <= HDP_FAULT_APP_RESTART || rec->health == HAMIDP_HEALTH_HEALTHY)
		return;
	if (rec->fault_class < HDP_FAULT_DEAD)
		fault_class = (enum hdp_fault_class)rec->fault_class;
	(void)hdp_health_fault(h, fault_class, rec->code,
			       rec->since_us < now_us ? rec->since_us : now_us);
	/* Being away is how the record came to be read: it is no absence of the device. */
	h->absent_since_fault = rec->health == HAMIDP_HEALTH_GONE;
}
