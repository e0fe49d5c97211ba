/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server with the methods Echo, Fail and Keep, which puts its call into @kept, and the stream
 * Watch; clients over socketpairs.
 */
#include "client.h"
#include "helper.h"
#include "rpc.h"

#define KEEP_MAX 512

extern sd_event *event;
extern struct rpc *rpc;
extern struct rpc_server *server;
extern struct rpc_call *kept[KEEP_MAX];
extern unsigned n_kept, n_opened, n_closed;

void fix_setup(void);
void fix_teardown(void);
int fix_connect_fd(void);
struct client *fix_connect(void);
void fix_finish(struct client_call *call);
/* One call; its status. */
int fix_call_once(struct client *c, const char *method, const void *bytes, size_t len);
bool fix_no_calls(void *userdata);
bool fix_no_connections(void *userdata);
