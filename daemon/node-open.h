/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Options to an open node, and what its layout is, in the log. */

#include "daemon.h"

struct hamidp_layout;
struct hamidp_node;
struct options;

/* Logs why not. DAEMON_OK with *@ret owned by the caller (hamidp_node_close()). */
enum daemon_exit node_open(const struct options *opts, struct hamidp_node **ret);
/* Cards and slots. */
void node_log_layout(const struct hamidp_layout *layout);
