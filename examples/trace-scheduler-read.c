/* SPDX-License-Identifier: Apache-2.0 */

/* Reads a trace: comma-separated tables with a line of names, in the openb format. */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "trace-scheduler.h"

#define ROWS_MAX 1000000U
#define FIELDS_MAX 32U
#define VALUE_MAX 1000000000U

/* A row being read: fields point into the line. */
struct row {
	const char *path;
	size_t line;
	char *fields[FIELDS_MAX];
	size_t n_fields;
	const size_t *columns; /* where each wanted column is */
};

static int complain(const struct row *row, const char *what, const char *value)
{
	fprintf(stderr, "%s:%zu: %s '%.100s' is not accepted\n", row->path, row->line, what, value);
	return -EINVAL;
}

static void split(struct row *row, char *line)
{
	line[strcspn(line, "\r\n")] = '\0';
	row->n_fields = 0;
	while (line && row->n_fields < FIELDS_MAX)
		row->fields[row->n_fields++] = strsep(&line, ",");
}

static const char *field(const struct row *row, size_t wanted)
{
	size_t column = row->columns[wanted];

	return column < row->n_fields ? row->fields[column] : "";
}

static int number(const struct row *row, size_t wanted, uint32_t *ret)
{
	const char *text = field(row, wanted);
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end != '\0' || errno != 0 || value > VALUE_MAX)
		return complain(row, "number", text);
	*ret = (uint32_t)value;
	return 0;
}

static int find_columns(struct row *row, const char *const *names, size_t n, size_t *columns)
{
	for (size_t i = 0; i < n; i++) {
		columns[i] = 0;
		while (columns[i] < row->n_fields && strcmp(row->fields[columns[i]], names[i]) != 0)
			columns[i]++;
		if (columns[i] == row->n_fields)
			return complain(row, "a table without the column", names[i]);
	}
	return 0;
}

typedef int (*row_fn)(struct trace *trace, const struct row *row);

static int read_table(struct trace *trace, const char *path, const char *const *names, size_t n,
		      row_fn fn)
{
	FILE *file = fopen(path, "re");
	size_t columns[FIELDS_MAX], size = 0;
	struct row row = { .path = path, .columns = columns };
	char *line = NULL;
	int r = 0;

	if (!file) {
		r = -errno;
		fprintf(stderr, "%s: %s\n", path, strerror(-r));
		return r;
	}
	while (r == 0 && getline(&line, &size, file) >= 0) {
		row.line++;
		if (row.line > ROWS_MAX) {
			r = complain(&row, "more than 1000000 rows:", path);
			break;
		}
		split(&row, line);
		r = row.line == 1 ? find_columns(&row, names, n, columns) : fn(trace, &row);
	}
	if (r == 0 && row.line < 2)
		r = complain(&row, "a table without rows:", path);
	free(line);
	fclose(file);
	return r;
}

/* Room for one more item, in steps that double. */
static void *grow(void *items, size_t n, size_t item_size)
{
	if (n > 0 && (n & (n - 1)) != 0)
		return items;
	return reallocarray(items, n ? 2 * n : 1, item_size);
}

static int add_node(struct trace *trace, const struct row *row)
{
	struct trace_node node = { 0 };
	struct trace_node *nodes;
	int r;

	r = number(row, 1, &node.cpu_milli);
	if (r == 0)
		r = number(row, 2, &node.memory_mib);
	if (r == 0)
		r = number(row, 3, &node.n_gpus);
	if (r < 0)
		return r;
	if (node.n_gpus > CARDS_MAX)
		return complain(row, "more than 16 GPUs:", field(row, 3));

	nodes = grow(trace->nodes, trace->n_nodes, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	trace->nodes = nodes;
	node.name = strdup(field(row, 0));
	node.model = strdup(field(row, 4));
	trace->nodes[trace->n_nodes++] = node;
	trace->gpu_milli += (uint64_t)node.n_gpus * CARD_MILLI;
	return node.name && node.model ? 0 : -ENOMEM;
}

/* The number of the shape's GPUs among those of the shapes before it. */
static size_t gpu_shape_of(struct trace *trace, const struct shape *shape)
{
	if (shape->n_gpus == 0)
		return 0;
	for (size_t i = 0; i < trace->n_shapes; i++)
		if (trace->shapes[i].n_gpus == shape->n_gpus &&
		    trace->shapes[i].gpu_milli == shape->gpu_milli)
			return trace->shapes[i].gpu_shape;
	return trace->n_gpu_shapes++;
}

static bool same_shape(const struct shape *a, const struct shape *b, const char *models)
{
	return a->cpu_milli == b->cpu_milli && a->memory_mib == b->memory_mib &&
	       a->n_gpus == b->n_gpus && a->gpu_milli == b->gpu_milli &&
	       strcmp(a->models, models) == 0;
}

static int find_shape(struct trace *trace, struct shape *shape, const char *models, size_t *ret)
{
	struct shape *shapes;

	for (size_t i = 0; i < trace->n_shapes; i++)
		if (same_shape(&trace->shapes[i], shape, models)) {
			*ret = i;
			return 0;
		}
	shapes = grow(trace->shapes, trace->n_shapes, sizeof(*shapes));
	if (!shapes)
		return -ENOMEM;
	trace->shapes = shapes;
	shape->gpu_shape = gpu_shape_of(trace, shape);
	shape->models = strdup(models);
	if (!shape->models)
		return -ENOMEM;
	*ret = trace->n_shapes;
	trace->shapes[trace->n_shapes++] = *shape;
	return 0;
}

static int add_pod(struct trace *trace, const struct row *row)
{
	struct shape shape = { 0 };
	size_t *pods;
	int r;

	r = number(row, 0, &shape.cpu_milli);
	if (r == 0)
		r = number(row, 1, &shape.memory_mib);
	if (r == 0)
		r = number(row, 2, &shape.n_gpus);
	if (r == 0)
		r = number(row, 3, &shape.gpu_milli);
	if (r < 0)
		return r;
	if (shape.n_gpus == 0)
		shape.gpu_milli = 0;
	else if (shape.n_gpus > 1)
		shape.gpu_milli = CARD_MILLI; /* several are whole cards */
	if (shape.gpu_milli > CARD_MILLI || (shape.n_gpus > 0 && shape.gpu_milli == 0))
		return complain(row, "a share of a GPU of", field(row, 3));

	pods = grow(trace->pods, trace->n_pods, sizeof(*pods));
	if (!pods)
		return -ENOMEM;
	trace->pods = pods;
	r = find_shape(trace, &shape, field(row, 4), &pods[trace->n_pods]);
	if (r == 0)
		trace->shapes[pods[trace->n_pods++]].n_pods++;
	return r;
}

static int compare_nodes(const void *a, const void *b)
{
	const struct trace_node *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* CPU milli for each whole GPU, at least 1. */
static uint64_t ratio(uint64_t cpu_milli, uint64_t gpu_milli)
{
	uint64_t ratio = gpu_milli ? cpu_milli * CARD_MILLI / gpu_milli : 0;

	return ratio ? ratio : 1;
}

static int sum_up(struct trace *trace)
{
	uint64_t node_cpu = 0, pod_cpu = 0, pod_gpu = 0;

	for (size_t i = 0; i < trace->n_nodes; i++)
		node_cpu += trace->nodes[i].cpu_milli;
	for (size_t i = 0; i < trace->n_shapes; i++) {
		const struct shape *shape = &trace->shapes[i];

		if (shape->n_gpus == 0)
			continue;
		pod_cpu += shape->n_pods * shape->cpu_milli;
		pod_gpu += shape->n_pods * shape->n_gpus * shape->gpu_milli;
	}
	trace->pod_cpu_milli_per_gpu = ratio(pod_cpu, pod_gpu);
	trace->node_cpu_milli_per_gpu = ratio(node_cpu, trace->gpu_milli);
	if (pod_gpu > 0 && trace->gpu_milli > 0)
		return 0;
	fprintf(stderr, "no GPU on any node, or none in any pod: nothing to allocate\n");
	return -EINVAL;
}

int trace_read(const char *nodes_path, const char *pods_path, struct trace *ret)
{
	static const char *const node_columns[] = { "sn", "cpu_milli", "memory_mib", "gpu",
						    "model" };
	static const char *const pod_columns[] = { "cpu_milli", "memory_mib", "num_gpu",
						   "gpu_milli", "gpu_spec" };
	struct trace trace = { .n_gpu_shapes = 1 };
	int r;

	r = read_table(&trace, nodes_path, node_columns, 5, add_node);
	if (r == 0)
		r = read_table(&trace, pods_path, pod_columns, 5, add_pod);
	if (r == 0)
		r = sum_up(&trace);
	if (r < 0) {
		trace_done(&trace);
		return r;
	}
	qsort(trace.nodes, trace.n_nodes, sizeof(*trace.nodes), compare_nodes);
	*ret = trace;
	return 0;
}

void trace_done(struct trace *trace)
{
	for (size_t i = 0; i < trace->n_nodes; i++) {
		free(trace->nodes[i].name);
		free(trace->nodes[i].model);
	}
	for (size_t i = 0; i < trace->n_shapes; i++)
		free(trace->shapes[i].models);
	free(trace->nodes);
	free(trace->shapes);
	free(trace->pods);
}
