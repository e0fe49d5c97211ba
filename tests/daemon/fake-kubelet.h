/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "client.h"
#include "rpc.h"

/*
 * The kubelet's side of a registration, in the process of the test: Register with the dial-back
 * inside it, ListAndWatch, and a restart that wipes the directory. One at a time.
 */
enum fake_style {
	FAKE_NORMAL,	/* since 1.25: dials and asks for the options before it answers */
	FAKE_1_20,	/* answers, then dials */
	FAKE_MUTE,	/* never answers */
	FAKE_REFUSE,	/* answers with an error */
	FAKE_NO_STREAM, /* agrees, and then does nothing */
};

struct fake_kubelet {
	enum fake_style style;
	unsigned n_registers, n_streams_seen;
	char resource_name[128], endpoint[128];
	bool pre_start, preferred;
	struct client *client; /* to the plugin */
	struct client_call *options, *watch;
	struct rpc_call *pending;
	bool overlapped; /* Register came while we held the plugin's stream: forbidden */
};

extern struct fake_kubelet fake;

void fake_begin(struct rpc *rpc, sd_event *event, const char *dir);
void fake_end(void);
void fake_up(void);
/* As on SIGTERM: streams end, kubelet.sock goes. */
void fake_down(void);
/* What a start does first: every socket in the directory goes. */
void fake_wipe(void);
void fake_drop_stream(void);
void fake_poll(void);
