/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Health of one device: what each side knows of it, and what follows. A value: observations and the
 * time go in, the device's state comes out.
 *
 * The worst of what is known counts:
 *
 *   absent                     gone
 *   fault, failed probe        unhealthy; a fault of class recover ends after a quiet time with
 *                              passing probes, reset and dead when the device comes back from an
 *                              absence
 *   silence of device, driver  suspect, then unhealthy; ends when it answers
 *   the driver's word          as it says
 */

#include <stdbool.h>
#include <stdint.h>

#include "driver.h"
#include "store.h"

#define HDP_SECOND_US 1000000ULL
#define HDP_QUIET_US (600 * HDP_SECOND_US)	/* without errors, to recover from one */
#define HDP_PROBE_EVERY_US (60 * HDP_SECOND_US) /* while a fault is open */
#define HDP_REPROBE_US (10 * HDP_SECOND_US)	/* after a failed probe without one */
#define HDP_CALL_SILENT_US (10 * HDP_SECOND_US) /* then suspect; as long again: unhealthy */
#define HDP_CAUSE_MAX 256U

enum hdp_silence {
	HDP_ANSWERS = 0,
	HDP_SILENT = 1, /* suspect */
	HDP_MUTE = 2,	/* unhealthy */
};

struct hdp_health {
	char uuid[HDP_UUID_MAX + 1];

	bool present;
	enum hamidp_health said; /* the driver's word */
	char said_cause[HDP_CAUSE_MAX];

	bool fault;
	bool absent_since_fault;
	enum hdp_fault_class fault_class;
	uint64_t fault_code;
	uint64_t fault_us;

	bool probe_failed;
	char probe_cause[HDP_CAUSE_MAX];
	uint64_t next_probe_us; /* UINT64_MAX: none is wanted */

	enum hdp_silence device_silence;
	enum hdp_silence driver_silence;
	char driver_cause[HDP_CAUSE_MAX];

	enum hamidp_health health; /* what follows */
	char cause[HDP_CAUSE_MAX];
	uint64_t since_us;
};

void hdp_health_init(struct hdp_health *h, const char *uuid, uint64_t now_us);

/* Observations. Each returns true if the device's state or its cause changed. */
bool hdp_health_present(struct hdp_health *h, enum hamidp_health said, const char *cause,
			uint64_t now_us);
bool hdp_health_absent(struct hdp_health *h, uint64_t now_us);
bool hdp_health_fault(struct hdp_health *h, enum hdp_fault_class fault_class, uint64_t code,
		      uint64_t now_us);
bool hdp_health_probed(struct hdp_health *h, int rc, const char *cause, uint64_t now_us);
bool hdp_health_device_silence(struct hdp_health *h, enum hdp_silence silence, uint64_t now_us);
bool hdp_health_driver_silence(struct hdp_health *h, enum hdp_silence silence, const char *cause,
			       uint64_t now_us);

/* When the device wants to be probed next, or UINT64_MAX. */
uint64_t hdp_health_deadline_us(const struct hdp_health *h);

/* True if nothing is worth remembering once the device is absent. */
bool hdp_health_forgettable(const struct hdp_health *h);

/* To and from the store; strings of the record point into @h. */
void hdp_health_record(const struct hdp_health *h, struct hdp_health_record *ret);
void hdp_health_restore(struct hdp_health *h, const struct hdp_health_record *rec, uint64_t now_us);

const char *hdp_fault_class_to_string(enum hdp_fault_class fault_class);
