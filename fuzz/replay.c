/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target once on each file given, or on each file of a given folder. Replays a corpus without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 1 << 20 };

static unsigned long runs;

static void replay(const char *name)
{
    static uint8_t bytes[MAX_BYTES];
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        perror(name);
        exit(EXIT_FAILURE);
    }
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    /* Exactly sized, so sanitizers catch reads past the end. */
    uint8_t *exact = malloc(n > 0 ? n : 1);
    if (exact == NULL)
        exit(EXIT_FAILURE);
    for (size_t i = 0; i < n; i++)
        exact[i] = bytes[i];
    fprintf(stderr, "%s\n", name);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    runs++;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (folder == NULL) {
            replay(argv[i]);
            continue;
        }
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            char name[4096];
            if (entry->d_name[0] != '.') {
                snprintf(name, sizeof name, "%s/%s", argv[i], entry->d_name);
                replay(name);
            }
        }
        closedir(folder);
    }
    printf("%lu inputs replayed\n", runs);
    return runs > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
