/* replay_main.c - runs a fuzz program without libFuzzer: on the files of the folder named by
 * EBB_CORPUS, then on 2,000 made inputs that are the same in every run.
 *
 * Made inputs repeat short patterns now and then: uniformly random bytes seldom reach far.
 * SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { MAX_BYTES = 1 << 20, N_MADE = 2000, MADE_BYTES = 512 };

static int run_file(const char *folder, const char *name, uint8_t *data)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return -1;
    FILE *file = fopen(path, "rb");
    if (!file) return -1;
    size_t bytes = fread(data, 1, MAX_BYTES, file);
    fclose(file);
    return LLVMFuzzerTestOneInput(data, bytes);
}

static int run_corpus(const char *folder, uint8_t *data)
{
    DIR *dir = folder ? opendir(folder) : NULL;
    if (!dir) return 0;
    int n = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        if (run_file(folder, entry->d_name, data) != 0) {
            fprintf(stderr, "%s/%s was not handled\n", folder, entry->d_name);
            exit(1);
        }
        n++;
    }
    closedir(dir);
    return n;
}

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int main(void)
{
    uint8_t *data = malloc(MAX_BYTES);
    if (!data) return 1;
    int n_files = run_corpus(getenv("EBB_CORPUS"), data);
    for (uint64_t i = 0; i < N_MADE; i++) {
        uint64_t state = i;
        size_t bytes = next(&state) % MADE_BYTES, period = 1 + next(&state) % 64;
        for (size_t k = 0; k < bytes; k++)
            data[k] = (i & 1) && k >= period ? data[k - period] : (uint8_t)next(&state);
        if (LLVMFuzzerTestOneInput(data, bytes) != 0) return 1;
    }
    free(data);
    printf("%d files and %d made inputs\n", n_files, N_MADE);
    return 0;
}
