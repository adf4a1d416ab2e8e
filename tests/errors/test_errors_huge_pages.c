/* SPDX-License-Identifier: MIT */
/*
 * Advice about huge pages: arguments that are errors, also on systems without huge pages.
 */
#include "errors/errors.h"

START_TEST(errors_of_advice)
{
    inlay_status (*const functions[])(const void *, size_t, size_t *) = {inlay_huge_pages_advise,
                                                                         inlay_huge_pages_collapse};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        size_t count = 77;
        void *last = (void *)(UINTPTR_MAX - 4095);
        EXPECT_STATUS(functions[i](NULL, 1, &count), INLAY_ERROR_NULL);
        EXPECT_STATUS(functions[i](last, 8192, &count), INLAY_ERROR_OVERFLOW);
        EXPECT_STATUS(functions[i](out.begin, SIZE_MAX, &count), INLAY_ERROR_OVERFLOW);
        EXPECT_STATUS(functions[i](out.begin, (size_t)PTRDIFF_MAX + 1, &count), INLAY_ERROR_OVERFLOW);
        EXPECT(count == 77, "an error wrote %zu", count);
        EXPECT_STATUS(functions[i](NULL, 0, &count), INLAY_OK);
        EXPECT(count == 0, "no memory has %zu bytes of huge pages", count);
        count = 77;
        EXPECT_STATUS(functions[i](out.begin, TOKENS * ROW_BYTES, &count), INLAY_OK);
        EXPECT(count == 0, "an array of %d bytes has %zu bytes of huge pages", TOKENS * ROW_BYTES, count);
        EXPECT_STATUS(functions[i](out.begin, TOKENS * ROW_BYTES, NULL), INLAY_OK);
        count = 77;
        EXPECT_STATUS(functions[i](last, 4095, &count), INLAY_OK);
        EXPECT(count == 0, "the last page holds %zu bytes of huge pages", count);
    }
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "errors of huge pages", make_fixture, free_fixture, errors_of_advice);
}
