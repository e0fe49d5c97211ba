/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Driver: one vendor's way to see, watch, cut and bind its devices.
 *
 * The table below is the shape of the public ABI that vendors will write against: every id is
 * given by the caller, every call is idempotent and has a deadline, messages are plain structs with
 * a size, there are no callbacks, and no pointer is kept after a call returns. A driver includes
 * this header, machine.h and reason.h, and nothing else of the library's objects.
 *
 * Calls of a driver with @may_block run on the driver's worker, except open, close, event_fd,
 * next_event, classify, prepare and unprepare, which must answer from memory. Those that run on the
 * worker say what is wrong in the reason and never log: the caller's sink is for its own thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hami/edits.h>
#include <hami/node.h>

#include "log.h"
#include "machine.h"
#include "reason.h"
#include "strv.h"

struct hdp_driver_env { /* what the core lends for the driver's whole life */
	const struct hdp_log *log;
	const char *sysroot;	 /* without a trailing '/'; "" for the real one */
	const char *driver_root; /* NULL: the driver's own default */
	const char *argument;	 /* what followed "name:", or NULL */
	bool named;		 /* the caller named this driver; "auto" did not choose it */
	bool watch;		 /* events are wanted */
};

/* One slice of a grant, as a driver sees it. */
struct hdp_slice {
	const char *uuid;
	const uint32_t *slots; /* numbers within the device, ascending */
	size_t n_slots;
	uint64_t memory_mib;
	uint32_t share_ppm;
};

struct hdp_grant_spec {
	const char *id;
	const struct hdp_slice *slices;
	size_t n_slices;
};

enum hdp_scope {
	HDP_SCOPE_DRIVER = 0,
	HDP_SCOPE_DEVICE = 1,
	HDP_SCOPE_SLICE = 2,
	HDP_SCOPE_GRANT = 3
};

enum hdp_driver_event_type {
	HDP_DRIVER_CHANGED = 1, /* enumerate again */
	HDP_DRIVER_ERROR = 2,	/* @uuid reported @code */
};

struct hdp_driver_event {
	enum hdp_driver_event_type type;
	enum hdp_scope scope;
	char uuid[HDP_UUID_MAX + 1]; /* scope device and narrower */
	uint32_t slot;		     /* scope slice */
	char grant_id[33];	     /* scope grant */
	uint64_t code;
};

/* What an error code means for the device's health. */
enum hdp_fault_class {
	HDP_FAULT_IGNORE = 0,	   /* counted, health unchanged */
	HDP_FAULT_APP_RESTART = 1, /* the application's; health unchanged */
	HDP_FAULT_RECOVER = 2,	   /* unhealthy until a quiet time and passing probes */
	HDP_FAULT_RESET = 3,	   /* unhealthy until reset or re-enumerated */
	HDP_FAULT_DEAD = 4,	   /* unhealthy until the device re-enumerates */
};

#define HDP_DRIVER_AUTO 0x1U	  /* "auto" may choose it */
#define HDP_DRIVER_HOST_NUMA 0x2U /* its NUMA nodes are this host's: sysfs has the last word */

struct hdp_driver {
	const char *name; /* unique, lower case */
	unsigned flags;	  /* HDP_DRIVER_* */

	/*
	 * 0; -ENODEV: not this host; -EOPNOTSUPP: this host, but it cannot be used (worth a line
	 * when "auto" goes on); -EINVAL, -ENOENT: the argument is wrong for good. All but the last
	 * two are tried again later.
	 */
	int (*open)(const struct hdp_driver_env *env, void **ret_priv,
		    struct hamidp_reason *reason);
	void (*close)(void *priv);
	bool (*may_block)(void *priv); /* NULL: never */
	void (*cancel)(
		void *priv); /* optional: calls return at once from now on, waiting ones too */

	/*
	 * Optional: readable when next_event() has something, or -1. next_event(): 0 or -EAGAIN; it
	 * is also asked once after open.
	 */
	int (*event_fd)(void *priv);
	int (*next_event)(void *priv, struct hdp_driver_event *ret);

	/* Devices, then their links. -ENODEV: the driver is not ready; -EPROTO: it spoke nonsense.
	 */
	int (*enumerate)(void *priv, uint64_t deadline_us, struct hdp_machine *ret,
			 struct hamidp_reason *reason);
	int (*topology)(void *priv, uint64_t deadline_us, struct hdp_machine *machine,
			struct hamidp_reason *reason);
	/* 0: the device answers and is well; -EIO and others: it is not, and the reason says why.
	 */
	int (*probe)(void *priv, const char *uuid, uint64_t deadline_us,
		     struct hamidp_reason *reason);
	enum hdp_fault_class (*classify)(void *priv, uint64_t code);

	int (*prepare)(void *priv, const struct hdp_grant_spec *grant, uint64_t deadline_us,
		       struct hamidp_edits *edits, struct hamidp_reason *reason);
	int (*unprepare)(void *priv, const char *grant_id, uint64_t deadline_us,
			 struct hamidp_reason *reason);
	/* Ids that are prepared: an array of @ret_n strings to be released with hdp_strv_free(). */
	int (*list)(void *priv, uint64_t deadline_us, char ***ret_ids, size_t *ret_n);

	int (*bind)(void *priv, const char *grant_id, const struct hamidp_binding *binding,
		    uint64_t deadline_us, struct hamidp_reason *reason);
	int (*unbind)(void *priv, const char *grant_id, const char *container_id,
		      uint64_t deadline_us, struct hamidp_reason *reason);
	int (*update)(void *priv, const char *grant_id, const char *uuid, uint64_t memory_mib,
		      uint64_t deadline_us, struct hamidp_reason *reason);
	int (*usage)(void *priv, const char *grant_id, const char *uuid, uint64_t deadline_us,
		     struct hamidp_usage *ret, struct hamidp_reason *reason);
};

extern const struct hdp_driver hdp_driver_hamivgpu;
extern const struct hdp_driver hdp_driver_sim;
