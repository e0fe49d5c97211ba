/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Describing machines in tests: by hand, at random, and sealed without ado. */

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inventory.h"
#include "reason.h"

static inline char *copied(const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	ck_assert(!text || copy);
	return copy;
}

static inline void add_device(struct hdp_machine *m, const char *uuid, const char *pci,
			      uint64_t memory_mib)
{
	struct hdp_device_info info = HDP_DEVICE_INFO_INIT;

	info.uuid = copied(uuid);
	info.pci = copied(pci);
	info.memory_mib = memory_mib;
	ck_assert_int_eq(hdp_machine_add_device(m, &info), 0);
}

static inline void add_link(struct hdp_machine *m, const char *a, const char *b,
			    enum hamidp_link_type type, uint32_t lanes, uint32_t gbps,
			    enum hamidp_pcie_level pcie)
{
	struct hdp_link_info link = {
		.a = copied(a),
		.b = copied(b),
		.type = type,
		.lanes = lanes,
		.gbps = gbps,
		.pcie = pcie,
	};

	ck_assert_int_eq(hdp_machine_add_link(m, &link), 0);
}

static inline struct hamidp_inventory *sealed(struct hdp_machine *m)
{
	struct hamidp_inventory *inv = NULL;
	struct hamidp_reason reason;
	int r;

	hdp_reason_clear(&reason);
	r = hdp_machine_seal(m, &inv, &reason);
	ck_assert_msg(r == 0, "%s", reason.text);
	return inv;
}

static inline uint32_t any(uint32_t below)
{
	return (uint32_t)rand() % below;
}

/* Half of the time nothing. */
static inline char *maybe(const char *text)
{
	return any(2) ? copied(text) : NULL;
}

static inline void add_random_device(struct hdp_machine *m, unsigned i)
{
	static const char *const models[] = { "NVIDIA A100", "a \"quoted\" \\ name",
					      "\xc3\xa9t\xc3\xa9" };
	struct hdp_device_info info = HDP_DEVICE_INFO_INIT;
	char text[64];

	snprintf(text, sizeof(text), "GPU-%08x-%u", any(1U << 30), i);
	info.uuid = copied(text);
	snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", any(3), any(256), any(32), any(8));
	info.pci = maybe(text);
	info.model = maybe(models[any(3)]);
	info.compute_capability = maybe("8.0");
	info.cpus = maybe("0-15,32-47");
	info.health_cause = maybe("it burns");
	info.index = (int64_t)any(4) - 1;
	info.minor = (int64_t)any(4) - 1;
	info.memory_mib = 1 + any(1U << 20);
	info.sms = any(3) * 54;
	info.sm_mhz = any(3) * 705;
	info.gflops_fp32 = 1 + any(1U << 20);
	info.numa_node = (int32_t)any(3) - 1;
	info.health = (enum hamidp_health)any(5);
	info.n_nodes = any(3);
	info.nodes = calloc(3, sizeof(*info.nodes));
	ck_assert_ptr_nonnull(info.nodes);
	for (size_t n = 0; n < info.n_nodes; n++)
		info.nodes[n] = (struct hdp_path){ .host = copied("/dev/null"),
						   .container = copied("/dev/hamivgpu0"),
						   .permissions = copied("rw") };
	ck_assert_int_eq(hdp_machine_add_device(m, &info), 0);
}

static inline void add_random_links(struct hdp_machine *m)
{
	static const enum hamidp_pcie_level levels[] = { HAMIDP_PCIE_UNKNOWN, HAMIDP_PCIE_SYS,
							 HAMIDP_PCIE_NODE,    HAMIDP_PCIE_PHB,
							 HAMIDP_PCIE_PXB,     HAMIDP_PCIE_PIX };
	unsigned n = m->n_devices > 1 ? any(20) : 0;

	while (n-- > 0) {
		size_t a = any((uint32_t)m->n_devices), b = any((uint32_t)m->n_devices);

		if (a != b)
			add_link(m, m->devices[a].uuid, m->devices[b].uuid,
				 (enum hamidp_link_type)any(3), any(4), any(4) * 25,
				 levels[any(6)]);
	}
}

static inline void add_random_grant(struct hdp_machine *m, unsigned i)
{
	struct hdp_stated_grant grant = { .n_slots = any(3), .memory_mib = any(2) * 5120 };
	char text[32];

	snprintf(text, sizeof(text), "grant-%u", i);
	grant.id = copied(text);
	grant.resource = maybe("hami.com/vgpu");
	grant.share_ppm = any(2) * 125000;
	grant.slots = calloc(3, sizeof(*grant.slots));
	ck_assert_ptr_nonnull(grant.slots);
	for (size_t n = 0; n < grant.n_slots; n++)
		grant.slots[n] = copied("GPU-x::0");
	ck_assert_int_eq(hdp_machine_add_grant(m, &grant), 0);
}

/* Everything that a machine can have, each thing maybe unknown. */
static inline void describe_random(struct hdp_machine *m)
{
	unsigned n = any(9);
	struct hdp_path mount = { .host = copied("/usr/lib/x.so"),
				  .container = copied("/usr/lib/y.so") };

	m->driver_name = maybe("sim");
	m->driver_version = maybe("550.54");
	m->max_slots = any(2) * 128;
	m->contiguous = any(2);
	for (unsigned i = 0; i < n; i++)
		add_random_device(m, i);
	add_random_links(m);
	for (unsigned i = any(3); i > 0; i--)
		add_random_grant(m, i);
	ck_assert_int_eq(hdp_machine_add_mount(m, &mount), 0);
}
