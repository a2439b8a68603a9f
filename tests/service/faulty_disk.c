/* A disk that fails while a file says so: preloaded, it stands before the C library.
   FAULTY_DISK names the file; its words: "sync" or "write" or "short", then the errno to fail with. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

int faulty_disk_syncs = 0; /* how often data was really sent to the disk */

static int fails(const char *what) {
    char word[16] = "";
    int number = 0;
    const char *path = getenv("FAULTY_DISK");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file) return 0;
    int read = fscanf(file, "%15s %d", word, &number);
    fclose(file);
    if (read != 2 || strcmp(word, what)) return 0;
    errno = number;
    return 1;
}

static int sync_by(const char *name, int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    if (fails("sync")) return -1;
    faulty_disk_syncs++;
    return real(fd);
}

static ssize_t write_by(const char *name, int fd, const void *data, size_t size, off_t at) {
    ssize_t (*real)(int, const void *, size_t, off_t) =
        (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, name);
    if (fails("write")) return -1;
    if (fails("short")) return real(fd, data, size / 2, at);
    return real(fd, data, size, at);
}

int fsync(int fd) { return sync_by("fsync", fd); }
int fdatasync(int fd) { return sync_by("fdatasync", fd); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return write_by("pwrite", fd, data, size, at); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) { return write_by("pwrite64", fd, data, size, at); }
