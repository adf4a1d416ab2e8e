/* SPDX-License-Identifier: MIT */
/*
 * spec.h without a library that reads JSON.
 */
#include "ngram/spec.h"

#include "text/message.h"

const char *ngram_spec_library(void)
{
    return NULL;
}

int ngram_spec_read(const char *path, struct ngram_spec *spec)
{
    (void)spec;
    return failed("--spec %s: this inlay was built without jansson and reads no JSON", shown(path));
}
