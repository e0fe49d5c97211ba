/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the kubelet's own record says about a resource, without reading it in full. */

#include <stdbool.h>

/*
 * Does the checkpoint in the device plugin directory @dir show no container that holds @resource?
 * True if there is none yet: then the kubelet has handed nothing out. False if it cannot be read.
 */
bool checkpoint_shows_no_holder(const char *dir, const char *resource);
