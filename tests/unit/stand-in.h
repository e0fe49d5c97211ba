/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A driver and a store that tests hold by the hand: each call can be made to fail, and what the
 * driver was asked is counted. The machine has the devices "GPU-a" to "GPU-d".
 */

#include <errno.h>
#include <semaphore.h>
#include <string.h>

#include "driver.h"
#include "store.h"

static struct stand_in {
	int open_rc, enumerate_rc, prepare_rc, bind_rc, probe_rc, change_rc; /* what to answer */
	enum hdp_fault_class fault_class;
	int32_t numa_node;
	size_t n_devices;
	bool may_block;
	bool hang_enumerate;
	bool hang_probe;
	sem_t go; /* what hangs waits for it */
	struct hdp_driver_event events[8];
	size_t n_events;

	unsigned n_open, n_enumerate, n_probe, n_prepared, n_bound, n_closed;
	char prepared[64][33]; /* ids that are prepared now */
	struct hdp_store *store;
} stand_in;

static inline int stand_in_fail(struct hamidp_reason *reason, int rc)
{
	return rc == 0 ? 0 : hdp_fail(reason, rc, HAMIDP_REASON_DRIVER_FAILED, "told to fail");
}

static inline int stand_in_open(const struct hdp_driver_env *env, void **ret_priv,
				struct hamidp_reason *reason)
{
	stand_in.n_open++;
	*ret_priv = &stand_in;
	return stand_in_fail(reason, stand_in.open_rc);
}

static inline void stand_in_close(void *priv)
{
	__atomic_add_fetch(&stand_in.n_closed, 1, __ATOMIC_SEQ_CST);
}

static inline bool stand_in_may_block(void *priv)
{
	return stand_in.may_block;
}

static inline int stand_in_next_event(void *priv, struct hdp_driver_event *ret)
{
	if (stand_in.n_events == 0)
		return -EAGAIN;
	*ret = stand_in.events[--stand_in.n_events];
	return 0;
}

static inline void stand_in_hang(void)
{
	while (sem_wait(&stand_in.go) < 0 && errno == EINTR)
		;
}

static inline int stand_in_enumerate(void *priv, uint64_t deadline_us, struct hdp_machine *ret,
				     struct hamidp_reason *reason)
{
	__atomic_add_fetch(&stand_in.n_enumerate, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&stand_in.hang_enumerate, __ATOMIC_SEQ_CST))
		stand_in_hang();
	if (stand_in.enumerate_rc)
		return stand_in_fail(reason, stand_in.enumerate_rc);
	for (size_t i = 0; i < stand_in.n_devices; i++) {
		struct hdp_device_info info = HDP_DEVICE_INFO_INIT;
		char uuid[] = "GPU-a";

		uuid[4] = (char)('a' + i);
		info.uuid = strdup(uuid);
		info.memory_mib = 40960;
		info.numa_node = stand_in.numa_node;
		info.health = HAMIDP_HEALTH_HEALTHY;
		if (!info.uuid || hdp_machine_add_device(ret, &info) < 0) {
			hdp_device_info_done(&info);
			return hdp_oom(reason);
		}
	}
	return 0;
}

static inline int stand_in_probe(void *priv, const char *uuid, uint64_t deadline_us,
				 struct hamidp_reason *reason)
{
	__atomic_add_fetch(&stand_in.n_probe, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&stand_in.hang_probe, __ATOMIC_SEQ_CST) && strcmp(uuid, "GPU-a") == 0)
		stand_in_hang();
	return stand_in_fail(reason, __atomic_load_n(&stand_in.probe_rc, __ATOMIC_SEQ_CST));
}

static inline enum hdp_fault_class stand_in_classify(void *priv, uint64_t code)
{
	return stand_in.fault_class;
}

static inline int stand_in_prepare(void *priv, const struct hdp_grant_spec *grant,
				   uint64_t deadline_us, struct hamidp_edits *edits,
				   struct hamidp_reason *reason)
{
	if (stand_in.prepare_rc)
		return stand_in_fail(reason, stand_in.prepare_rc);
	(void)strcpy(stand_in.prepared[stand_in.n_prepared++], grant->id);
	return 0;
}

static inline int stand_in_unprepare(void *priv, const char *grant_id, uint64_t deadline_us,
				     struct hamidp_reason *reason)
{
	for (unsigned i = 0; i < stand_in.n_prepared; i++) {
		if (strcmp(stand_in.prepared[i], grant_id) != 0)
			continue;
		stand_in.n_prepared--;
		memmove(stand_in.prepared[i], stand_in.prepared[stand_in.n_prepared], 33);
	}
	return 0;
}

static inline int stand_in_bind(void *priv, const char *grant_id,
				const struct hamidp_binding *binding, uint64_t deadline_us,
				struct hamidp_reason *reason)
{
	stand_in.n_bound++;
	return stand_in_fail(reason, stand_in.bind_rc);
}

static const struct hdp_driver stand_in_driver = {
	.name = "stand-in",
	.flags = HDP_DRIVER_AUTO | HDP_DRIVER_HOST_NUMA,
	.open = stand_in_open,
	.close = stand_in_close,
	.may_block = stand_in_may_block,
	.next_event = stand_in_next_event,
	.enumerate = stand_in_enumerate,
	.probe = stand_in_probe,
	.classify = stand_in_classify,
	.prepare = stand_in_prepare,
	.unprepare = stand_in_unprepare,
	.bind = stand_in_bind,
};

static const struct hdp_driver *const stand_in_table[] = { &stand_in_driver, NULL };

/* The store passes everything on to one in memory, but for changes that are to fail. */
static struct hdp_store_ops stand_in_ops;

static inline int stand_in_change(struct hdp_store *store, const struct hdp_store_change *change,
				  struct hamidp_reason *reason)
{
	if (stand_in.change_rc)
		return hdp_fail(reason, stand_in.change_rc, HAMIDP_REASON_STORE, "told to fail");
	return stand_in.store->ops->change(stand_in.store, change, reason);
}

static inline int stand_in_put_health(struct hdp_store *store, const struct hdp_health_record *rec,
				      struct hamidp_reason *reason)
{
	return stand_in.store->ops->put_health(stand_in.store, rec, reason);
}

static inline int stand_in_each_grant(struct hdp_store *store,
				      int (*fn)(void *userdata, const struct hdp_grant_record *rec),
				      void *userdata)
{
	return stand_in.store->ops->each_grant(stand_in.store, fn, userdata);
}

static inline int stand_in_each_health(struct hdp_store *store,
				       int (*fn)(void *userdata,
						 const struct hdp_health_record *rec),
				       void *userdata)
{
	return stand_in.store->ops->each_health(stand_in.store, fn, userdata);
}

/* The one in memory stays, so that another node can be opened on it. */
static inline void stand_in_close_store(struct hdp_store *store)
{
}

static struct hdp_store stand_in_store = { &stand_in_ops };

static inline void stand_in_setup(void)
{
	memset(&stand_in, 0, sizeof(stand_in));
	stand_in.n_devices = 4;
	stand_in.fault_class = HDP_FAULT_RECOVER;
	stand_in.numa_node = -1;
	sem_init(&stand_in.go, 0, 0);
	if (hdp_store_mem_new(&stand_in.store) < 0)
		abort();
	stand_in_ops = (struct hdp_store_ops){
		.name = "stand-in",
		.close = stand_in_close_store,
		.change = stand_in_change,
		.put_health = stand_in_put_health,
		.each_grant = stand_in_each_grant,
		.each_health = stand_in_each_health,
	};
}

static inline void stand_in_teardown(void)
{
	stand_in.store->ops->close(stand_in.store);
	sem_destroy(&stand_in.go);
}
