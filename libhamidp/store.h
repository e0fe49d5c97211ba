/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Store: the durable record of a node behind one table of functions. It keeps what it is told and
 * decides nothing. Every write is one transaction: after a crash all of it is there, or none.
 */

#include <stddef.h>
#include <stdint.h>

#include "machine.h"
#include "reason.h"

struct hdp_grant_record { /* strings are borrowed by the store only during a call */
	const char *id;
	const char *resource;
	const char *owner;
	const char *key;
	uint64_t created_us;
	const char *const *slots; /* slot ids it holds now */
	size_t n_slots;
};

struct hdp_health_record {
	const char *uuid;
	enum hamidp_health health;
	const char *cause;
	uint64_t since_us;
	uint64_t code;
	unsigned fault_class; /* enum hdp_fault_class */
};

/* What one commit changes: a new grant, and older ones that lose slots (0 left: the grant ends). */
struct hdp_store_change {
	const struct hdp_grant_record *grant; /* NULL: none is new */
	const struct hdp_grant_record *lessened;
	size_t n_lessened;
	const char *ended; /* id of a grant that ends, or NULL */
};

struct hdp_store;

struct hdp_store_ops {
	const char *name;
	void (*close)(struct hdp_store *store);
	int (*change)(struct hdp_store *store, const struct hdp_store_change *change,
		      struct hamidp_reason *reason);
	int (*put_health)(struct hdp_store *store, const struct hdp_health_record *rec,
			  struct hamidp_reason *reason);
	/* Each record is valid during the callback; it returns 0 to go on, else that is returned.
	 */
	int (*each_grant)(struct hdp_store *store,
			  int (*fn)(void *userdata, const struct hdp_grant_record *rec),
			  void *userdata);
	int (*each_health)(struct hdp_store *store,
			   int (*fn)(void *userdata, const struct hdp_health_record *rec),
			   void *userdata);
};

struct hdp_store { /* first member of every implementation's own struct */
	const struct hdp_store_ops *ops;
};

/* Keeps everything in memory, for nodes that need not survive. */
int hdp_store_mem_new(struct hdp_store **ret) hdp_must_check;
