/* SPDX-License-Identifier: Apache-2.0 */
/* The table of --dry-run: every card, every slot, and why a card is left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/hamidp.h>

#include "../unit/suite.h"
#include "dry-run.h"
#include "fixture.h"

static struct fixture fix;

static void setup(void)
{
	fixture_init(&fix);
}

static void teardown(void)
{
	fixture_done(&fix);
}

static char *print(void)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(out);
	dry_run_print(fixture_layout(&fix), out);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

START_TEST(small_machine_in_full)
{
	static const struct fixture_card cards[] = {
		{ "GPU-a", "0000:0a:00.0", 40960, 1, "healthy" },
		{ "GPU-bb", NULL, 20480, -1, "unhealthy" },
	};
	char *text;

	fixture_write_machine(&fix, cards, 2);
	fixture_write_config(&fix, "version: 1\ncores_per_device: 2\nresources:\n"
				   "  - name: hami.com/vgpu\n"
				   "  - {name: a.b/whole, cores_per_device: 1, devices: [{uuid: "
				   "GPU-bb}]}\n");
	fixture_open(&fix, NULL);
	text = print();
	ck_assert_str_eq(text,
			 "driver sim 1.0: 2 GPU(s)\n"
			 "hami.com/vgpu: 2\n"
			 "a.b/whole: 1\n"
			 "\n"
			 "UUID    PCI           NUMA      MIB  SLOTS  RESOURCE       STATE\n"
			 "GPU-a   0000:0a:00.0     1    40960      2  hami.com/vgpu  healthy\n"
			 "GPU-bb  -                -    20480      1  a.b/whole      unhealthy\n"
			 "\n"
			 "SLOT           MIB  CORES %  RESOURCE\n"
			 "GPU-a::0     20480       50  hami.com/vgpu\n"
			 "GPU-a::1     20480       50  hami.com/vgpu\n"
			 "GPU-bb::0    20480      100  a.b/whole\n");
	free(text);
}
END_TEST

START_TEST(card_that_is_left_out_says_why)
{
	static const struct fixture_card cards[] = {
		{ "GPU-a", "0000:0a:00.0", 40536, -1, NULL },
		{ "GPU-b", "0000:0b:00.0", 81920, -1, NULL },
	};
	char *text, *line, *end;

	fixture_write_machine(&fix, cards, 2);
	fixture_open(&fix, FLAGS("--cores-per-device=8", "--memory-mb-per-core=10240"));
	text = print();
	line = strstr(text, "\nGPU-a ");
	ck_assert_ptr_nonnull(line);
	end = strchr(line + 1, '\n');
	*end = '\0';
	ck_assert_ptr_nonnull(strstr(line, "healthy; "));
	ck_assert_ptr_nonnull(strstr(line, "10240"));
	ck_assert_ptr_nonnull(strstr(line, "40536"));
	free(text);
}
END_TEST

START_TEST(article_shows_32_slots_of_an_eighth)
{
	char *text;
	size_t n = 0;

	fixture_open(&fix, FLAGS("--driver=sim:article", "--cores-per-device=8",
				 "--memory-mb-per-core=5120"));
	text = print();
	ck_assert_ptr_nonnull(strstr(text, "\nhami.com/vgpu: 32\n"));
	for (const char *p = text; (p = strstr(p, "     5120     12.5  hami.com/vgpu\n")); p++)
		n++;
	ck_assert_uint_eq(n, 32);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dry-run");
	TCase *tcase = tcase_create("dry-run");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, small_machine_in_full);
	tcase_add_test(tcase, card_that_is_left_out_says_why);
	tcase_add_test(tcase, article_shows_32_slots_of_an_eighth);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
