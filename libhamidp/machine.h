/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A machine while it is being described: what drivers fill and the JSON reader makes. Sealing it
 * sorts and checks it and gives the immutable inventory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hami/inventory.h>

#include "macro.h"

struct hamidp_reason;

#define HDP_DEVICES_MAX 512U
#define HDP_UUID_MAX 127U		/* bytes without the NUL */
#define HDP_STRING_MAX 4096U		/* any other string of a machine */
#define HDP_JSON_MAX (16U << 20)	/* bytes of one inventory */
#define HDP_GRANTS_MAX 65536U		/* stated in one inventory */
#define HDP_MEMORY_MIB_MAX (1ULL << 32) /* 4 PiB a device */

struct hdp_path { /* a device node, or (without permissions) a read-only mount */
	char *host;
	char *container;
	char *permissions;
};

struct hdp_device_info {
	char *uuid;
	char *model;		  /* NULL: unknown; likewise below */
	char *pci;		  /* normalised to lower case */
	char *compute_capability; /* "8.0" */
	char *cpus;		  /* Linux cpulist */
	char *health_cause;
	int64_t index; /* -1: unknown; likewise below */
	int64_t minor;
	uint64_t memory_mib;
	uint32_t sms;
	uint32_t sm_mhz;
	uint64_t gflops_fp32;
	int32_t numa_node;
	enum hamidp_health health;
	struct hdp_path *nodes;
	size_t n_nodes;
};

struct hdp_link_info { /* one statement about a pair; contradictions give the smaller value */
	char *a, *b;   /* UUIDs */
	enum hamidp_link_type type;
	uint32_t lanes;
	uint32_t gbps; /* GB/s per direction, all lanes together */
	enum hamidp_pcie_level pcie;
};

struct hdp_stated_grant { /* a grant that the text names */
	char *id;
	char *resource;
	char **slots;
	size_t n_slots;
	uint64_t memory_mib;
	uint32_t share_ppm;
};

struct hdp_machine {
	char *driver_name;
	char *driver_version;
	uint32_t max_slots; /* 0: no limit named */
	bool contiguous;
	struct hdp_device_info *devices;
	size_t n_devices, cap_devices;
	struct hdp_link_info *links;
	size_t n_links, cap_links;
	struct hdp_path *mounts;
	size_t n_mounts, cap_mounts;
	struct hdp_stated_grant *grants;
	size_t n_grants, cap_grants;
};

#define HDP_DEVICE_INFO_INIT                              \
	{                                                 \
		.index = -1, .minor = -1, .numa_node = -1 \
	}

/* Each frees the contents and leaves the struct zeroed. */
void hdp_path_done(struct hdp_path *path);
void hdp_device_info_done(struct hdp_device_info *info);
void hdp_link_info_done(struct hdp_link_info *link);
void hdp_stated_grant_done(struct hdp_stated_grant *grant);

/* Deep copies; 0 or -ENOMEM. */
int hdp_path_copy(const struct hdp_path *src, struct hdp_path *ret) hdp_must_check;
int hdp_device_info_copy(const struct hdp_device_info *src, struct hdp_device_info *ret)
	hdp_must_check;
int hdp_stated_grant_copy(const struct hdp_stated_grant *src, struct hdp_stated_grant *ret)
	hdp_must_check;

void hdp_machine_done(struct hdp_machine *m); /* frees the contents, leaves it zeroed */
/* Take over the contents of @item (which is left zeroed); 0 or -ENOMEM with @item untouched. */
int hdp_machine_add_device(struct hdp_machine *m, struct hdp_device_info *item) hdp_must_check;
int hdp_machine_add_link(struct hdp_machine *m, struct hdp_link_info *item) hdp_must_check;
int hdp_machine_add_mount(struct hdp_machine *m, struct hdp_path *item) hdp_must_check;
int hdp_machine_add_grant(struct hdp_machine *m, struct hdp_stated_grant *item) hdp_must_check;

/*
 * Check and freeze: UUIDs present, unique, of printable ASCII without blanks, ',' or "::" and at
 * most HDP_UUID_MAX bytes; text valid UTF-8; devices sorted by PCI address then UUID. Takes the
 * contents over on success (@m is left zeroed). -EINVAL with a reason, or -ENOMEM.
 */
int hdp_machine_seal(struct hdp_machine *m, struct hamidp_inventory **ret,
		     struct hamidp_reason *reason) hdp_must_check;
