/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAMI_EDITS_H
#define HAMI_EDITS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: edits
 *
 * What a container must get: environment, device nodes, mounts, CDI names, annotations and hooks.
 * hamidp_grant_edits() lends the edits of a grant; a program may make its own. Adding the same
 * environment name, container path, CDI name or annotation key again replaces the earlier one.
 * Edits belong to one thread while they are changed, and may be read by many. Strings must be
 * UTF-8 without control characters and at most 4096 bytes; a variable's name and value together at
 * most 131070, which is what Linux takes. No call here blocks.
 */

/* Opaque. */
struct hamidp_edits;
struct hamidp_reason;

/** hamidp_edits_new() - empty edits, to be released with hamidp_edits_free(); 0 or -ENOMEM; Since:
 * 0.1 */
int hamidp_edits_new(struct hamidp_edits **ret);
/** hamidp_edits_free() - release (NULL is fine); returns NULL; Since: 0.1 */
struct hamidp_edits *hamidp_edits_free(struct hamidp_edits *edits);

/** hamidp_edits_add_env() - set a variable; 0, -EINVAL (name or value) or -ENOMEM; Since: 0.1 */
int hamidp_edits_add_env(struct hamidp_edits *edits, const char *name, const char *value);

/** enum hamidp_node_type - kind of a device node; Since: 0.1 */
enum hamidp_node_type {
	HAMIDP_NODE_TYPE_UNKNOWN = 0, /* the runtime looks at the host path */
	HAMIDP_NODE_TYPE_CHAR = 1,
	HAMIDP_NODE_TYPE_BLOCK = 2,
	_HAMIDP_NODE_TYPE_PAD = 0x7fffffff
};

/**
 * struct hamidp_device_node - a device node in a container
 * @size: sizeof(struct hamidp_device_node) at the caller's build time
 * @container_path: absolute path inside
 * @host_path: absolute path on the host
 * @permissions: subset of "rwm" in this order, not empty
 * @type: kind, if known; then @major and @minor are valid
 * @major: device major number
 * @minor: device minor number
 *
 * Strings are borrowed: copied when given, valid as long as the edits when got.
 *
 * Since: 0.1
 */
struct hamidp_device_node {
	size_t size;
	const char *container_path;
	const char *host_path;
	const char *permissions;
	enum hamidp_node_type type;
	uint32_t major;
	uint32_t minor;
};

/** hamidp_edits_add_device_node() - add a node; 0, -EINVAL or -ENOMEM; Since: 0.1 */
int hamidp_edits_add_device_node(struct hamidp_edits *edits, const struct hamidp_device_node *node);
/** hamidp_edits_add_mount() - bind a host path; @read_only 0 or 1; 0, -EINVAL or -ENOMEM; Since:
 * 0.1 */
int hamidp_edits_add_mount(struct hamidp_edits *edits, const char *container_path,
			   const char *host_path, int read_only);
/** hamidp_edits_add_cdi() - name a CDI device "vendor.com/class=name"; 0, -EINVAL or -ENOMEM;
 * Since: 0.1 */
int hamidp_edits_add_cdi(struct hamidp_edits *edits, const char *name);
/** hamidp_edits_add_annotation() - annotate the container; 0, -EINVAL or -ENOMEM; Since: 0.1 */
int hamidp_edits_add_annotation(struct hamidp_edits *edits, const char *key, const char *value);
/**
 * hamidp_edits_add_hook() - run a program in the container's life
 * @edits: edits
 * @name: OCI name: "createRuntime", "createContainer", "startContainer", "poststart", "poststop"
 * @path: absolute path on the host
 * @args: NULL-terminated argument vector with args[0], or NULL
 * @timeout_s: seconds, 0 for the runtime's default
 *
 * Return: 0, -EINVAL or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_edits_add_hook(struct hamidp_edits *edits, const char *name, const char *path,
			  const char *const *args, uint32_t timeout_s);

/*
 * Iterate: counts, then the i-th entry in the order of adding; 0, or -ENOENT past the end. Strings
 * are borrowed until the edits are changed. Hooks are only written, by the two calls at the end.
 */

/** hamidp_edits_n_env() - variables; Since: 0.1 */
size_t hamidp_edits_n_env(const struct hamidp_edits *edits);
/** hamidp_edits_env() - the @i-th variable, strings borrowed; Since: 0.1 */
int hamidp_edits_env(const struct hamidp_edits *edits, size_t i, const char **ret_name,
		     const char **ret_value);
/** hamidp_edits_n_device_nodes() - device nodes; Since: 0.1 */
size_t hamidp_edits_n_device_nodes(const struct hamidp_edits *edits);
/** hamidp_edits_device_node() - the @i-th node; set ret->size before, -EINVAL if it is too small;
 * Since: 0.1 */
int hamidp_edits_device_node(const struct hamidp_edits *edits, size_t i,
			     struct hamidp_device_node *ret);
/** hamidp_edits_n_mounts() - mounts; Since: 0.1 */
size_t hamidp_edits_n_mounts(const struct hamidp_edits *edits);
/** hamidp_edits_mount() - the @i-th mount, strings borrowed; Since: 0.1 */
int hamidp_edits_mount(const struct hamidp_edits *edits, size_t i, const char **ret_container_path,
		       const char **ret_host_path, int *ret_read_only);
/** hamidp_edits_n_cdi() - CDI names; Since: 0.1 */
size_t hamidp_edits_n_cdi(const struct hamidp_edits *edits);
/** hamidp_edits_cdi() - the @i-th CDI name, borrowed; Since: 0.1 */
int hamidp_edits_cdi(const struct hamidp_edits *edits, size_t i, const char **ret_name);
/** hamidp_edits_n_annotations() - annotations; Since: 0.1 */
size_t hamidp_edits_n_annotations(const struct hamidp_edits *edits);
/** hamidp_edits_annotation() - the @i-th annotation, strings borrowed; Since: 0.1 */
int hamidp_edits_annotation(const struct hamidp_edits *edits, size_t i, const char **ret_key,
			    const char **ret_value);

/**
 * hamidp_edits_to_cdi() - a CDI 0.5.0 specification with one device
 * @edits: edits; CDI names and annotations have no place in a specification and are left out
 * @kind: "vendor.com/class"
 * @name: device name
 * @ret_text: where to store the NUL-terminated JSON, to be released with free()
 * @reason: what is wrong, or NULL
 *
 * Return: 0, -EINVAL (kind or name, or no edits to write: runtimes refuse such a file) or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_edits_to_cdi(const struct hamidp_edits *edits, const char *kind, const char *name,
			char **ret_text, struct hamidp_reason *reason);

/**
 * hamidp_edits_to_oci() - a fragment of an OCI runtime configuration
 * @edits: edits; CDI names have no place in it and are left out
 * @ret_text: where to store the NUL-terminated JSON, to be released with free()
 * @reason: what is wrong, or NULL
 *
 * The object has those of process.env, linux.devices, linux.resources.devices, mounts, hooks and
 * annotations that are not empty, to be merged into a config.json.
 *
 * Return: 0, -EOPNOTSUPP (a device node whose type is not known) or -ENOMEM.
 *
 * Since: 0.1
 */
int hamidp_edits_to_oci(const struct hamidp_edits *edits, char **ret_text,
			struct hamidp_reason *reason);

#ifdef __cplusplus
}
#endif
#endif
