/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by dp-codec-*.c. */

#include <protobuf-c/protobuf-c.h>

#include "dp-codec.h"

/* protobuf-c's allocator over an arena. */
ProtobufCAllocator dp_arena_allocator(struct dp_arena *arena);
/* Why an allocation or an unpack of @arena failed. */
int dp_arena_error(const struct dp_arena *arena, int otherwise);
