/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Who has which bytes of a file is known by locks of open file descriptions: they count between
 * processes and within one, and end with the descriptor, whatever happens to the process.
 */

#include "ompi_config.h"

#include "osc_cached_storage_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "osc_cached_descriptor.h"

uint64_t ompi_osc_cached_file_page(void)
{
    return (uint64_t) sysconf(_SC_PAGESIZE);
}

static bool is_link(const char *name)
{
    struct stat status;

    return 0 == lstat(name, &status) && S_ISLNK(status.st_mode);
}

/* @return a descriptor, or -1 */
static int open_or_create(const osc_cached_file_wish_t *wish, bool *created)
{
    int descriptor;

    do {
        if (is_link(wish->name)) { /* nothing is created where it leads */
            *created = false;
            return open(wish->name, O_RDWR | O_CLOEXEC);
        }
        *created = false;
        descriptor = open(wish->name, O_RDWR | O_CLOEXEC);
        if (-1 == descriptor && ENOENT == errno) {
            *created = true;
            descriptor = open(wish->name, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, wish->permissions);
        }
    } while (-1 == descriptor && *created && EEXIST == errno); /* somebody else was faster */
    *created = *created && -1 != descriptor;
    return descriptor;
}

/* Where the file is, whatever has happened to the name that it was opened by. */
static void path_of(const ompi_osc_cached_file_t *file, char path[PATH_MAX])
{
    char link[64];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", file->descriptor);
    length = readlink(link, path, PATH_MAX - 1);
    if (0 < length) {
        path[length] = '\0';
    } else {
        snprintf(path, PATH_MAX, "%s", file->wish.name);
    }
}

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

static void unlink_it(const ompi_osc_cached_file_t *file)
{
    struct stat ours, found;
    char path[PATH_MAX];

    path_of(file, path);
    if (0 == fstat(file->descriptor, &ours) && 0 == lstat(path, &found) && is_same(&ours, &found)) {
        (void) unlink(path);
    }
}

typedef enum { OURS, OTHERS, UNKNOWN } owner_t;

/* Who has these bytes; length 0: all.  On a file system without locks, nothing can be known. */
static owner_t lock(int descriptor, uint64_t from, uint64_t length)
{
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t) from, .l_len = (off_t) length};

    return (0 == fcntl(descriptor, F_OFD_SETLK, &range)) ? OURS
           : (EAGAIN == errno || EACCES == errno)        ? OTHERS
                                                         : UNKNOWN;
}

/* Is the window that has these bytes being freed?  Then its processes have only to wait for each
 * other. */
static bool is_being_freed(int descriptor, uint64_t from, uint64_t length)
{
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t) from, .l_len = (off_t) length};

    return 0 == fcntl(descriptor, F_OFD_GETLK, &range) && F_WRLCK != range.l_type;
}

/* As lock(); waits while the window that has the bytes is being freed. */
static owner_t lock_freed(int descriptor, uint64_t from, uint64_t length)
{
    enum { MILLISECONDS = 5000 };
    owner_t owner = lock(descriptor, from, length);

    for (int i = 0; i < MILLISECONDS && OTHERS == owner && is_being_freed(descriptor, from, length);
         ++i) {
        (void) usleep(1000);
        owner = lock(descriptor, from, length);
    }
    return owner;
}

/* Room for all bytes of the file; 0 or errno. */
static int allocate(const ompi_osc_cached_file_t *file, const struct stat *status)
{
    uint64_t from = file->wish.offset, end = from + file->plan.file_size;
    uint64_t length = (uint64_t) status->st_size;
    struct rlimit limit;

    /* beyond the limit of the process, fallocate would end it by a signal */
    if (0 == getrlimit(RLIMIT_FSIZE, &limit) && RLIM_INFINITY != limit.rlim_cur && length < end
        && limit.rlim_cur < end) {
        return EFBIG;
    }
    /* it takes all there is before it says that this is not enough, and others have none then */
    if (length < end && file->room < end - ((length < from) ? from : length)) {
        return ENOSPC;
    }
    return ompi_osc_cached_reserve_room(file->descriptor, from, file->plan.file_size,
                                        file->in_memory);
}

/* Is the file in one of some file systems? */
static bool is_in(int descriptor, const uint32_t *types, size_t count)
{
    struct statfs status;

    if (0 != fstatfs(descriptor, &status)) {
        return false;
    }
    for (size_t i = 0; i < count; ++i) {
        if (types[i] == (uint32_t) status.f_type) {
            return true;
        }
    }
    return false;
}

static bool is_in_memory(int descriptor)
{
    static const uint32_t types[] = {
        0x01021994, /* tmpfs */
        0x858458F6, /* ramfs */
        0x958458F6, /* hugetlbfs */
    };

    return is_in(descriptor, types, sizeof(types) / sizeof(types[0]));
}

/* File systems that other nodes may have, too; FUSE and 9P may be anything. */
static bool is_on_network(int descriptor)
{
    static const uint32_t types[] = {
        0x6969,     /* NFS */
        0x517B,     /* SMB */
        0xFF534D42, /* CIFS */
        0xFE534D42, /* SMB2 */
        0x0BD00BD0, /* Lustre */
        0x47504653, /* GPFS */
        0x19830326, /* BeeGFS */
        0x00C36400, /* Ceph */
        0x20030528, /* OrangeFS */
        0xAAD7AAEA, /* PanFS */
        0x01161970, /* GFS2 */
        0x7461636F, /* OCFS2 */
        0x5346414F, /* AFS */
        0x73757245, /* Coda */
        0x65735546, /* FUSE */
        0x01021997, /* 9P */
    };

    return is_in(descriptor, types, sizeof(types) / sizeof(types[0]));
}

int ompi_osc_cached_file_advice(const ompi_osc_cached_file_t *file)
{
    static const int advice[] = {
        [OSC_CACHED_FILE_RANDOM] = MADV_RANDOM,
        [OSC_CACHED_FILE_SEQUENTIAL] = MADV_SEQUENTIAL,
        [OSC_CACHED_FILE_NORMAL] = MADV_NORMAL,
    };

    return advice[file->wish.access];
}

/* Addresses for the whole window, memory behind one part of them and the file behind the other. */
static bool map(ompi_osc_cached_file_t *file)
{
    static const int for_reads[] = {
        /* of the helper */
        [OSC_CACHED_FILE_RANDOM] = POSIX_FADV_RANDOM,
        [OSC_CACHED_FILE_SEQUENTIAL] = POSIX_FADV_SEQUENTIAL,
        [OSC_CACHED_FILE_NORMAL] = POSIX_FADV_NORMAL,
    };
    const osc_cached_file_plan_t *plan = &file->plan;
    uint64_t page = ompi_osc_cached_file_page();
    uint64_t size = plan->memory_size + plan->file_size;
    size_t mapped = (size_t) ((size + page - 1) / page * page);
    char *base = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (MAP_FAILED == (void *) base) {
        return false;
    }
    file->base = base;
    file->mapped = mapped;
    if (0 < plan->memory_size
        && 0 != mprotect(base + plan->memory_start, plan->memory_size, PROT_READ | PROT_WRITE)) {
        return false;
    }
    if (0 < plan->file_size) {
        if (MAP_FAILED
            == mmap(base + plan->file_start, plan->file_size, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED, file->descriptor, (off_t) file->wish.offset)) {
            return false;
        }
        (void) madvise(base + plan->file_start, plan->file_size, ompi_osc_cached_file_advice(file));
        (void) posix_fadvise(file->descriptor, 0, 0, for_reads[file->wish.access]);
    }
    return true;
}

/* FNV-1a */
static uint64_t identity_of(const char *name, uint64_t number)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ number;

    for (; '\0' != *name; ++name) {
        hash = (hash ^ (unsigned char) *name) * UINT64_C(1099511628211);
    }
    return hash;
}

/* Bytes free where a file is. */
static uint64_t room(int descriptor)
{
    struct statfs status;

    return (0 == fstatfs(descriptor, &status))
               ? (uint64_t) status.f_bavail * (uint64_t) status.f_bsize
               : 0;
}

ompi_osc_cached_file_state_t ompi_osc_cached_file_open(ompi_osc_cached_file_t *file, int *error)
{
    const osc_cached_file_plan_t *plan = &file->plan;
    enum { TRIES = 100 };
    char path[PATH_MAX];
    struct stat status, found;

    file->descriptor = -1;
    file->created = file->on_network = file->in_memory = false;
    file->length = UINT64_MAX; /* not known yet */
    file->base = NULL;
    *error = 0;
    if (0 < plan->file_size) {
        /* who had the file may have removed it, or made it longer, until we had the lock */
        for (int tries = 0; tries < TRIES; ++tries) {
            if (-1 != file->descriptor) {
                (void) close(file->descriptor);
            }
            file->descriptor = open_or_create(&file->wish, &file->created);
            if (-1 == file->descriptor) {
                *error = errno;
                return (EISDIR == errno) ? OSC_CACHED_FILE_KIND : OSC_CACHED_FILE_UNUSABLE;
            }
            if (OTHERS == lock_freed(file->descriptor, file->wish.offset, plan->file_size)) {
                return OSC_CACHED_FILE_BUSY;
            }
            if (0 != fstat(file->descriptor, &status)) {
                *error = errno;
                return OSC_CACHED_FILE_UNUSABLE;
            }
            if (0 == stat(file->wish.name, &found) && is_same(&status, &found)) {
                break;
            }
        }
        if (!S_ISREG(status.st_mode)) {
            return OSC_CACHED_FILE_KIND;
        }
        file->on_network = is_on_network(file->descriptor);
        file->in_memory = is_in_memory(file->descriptor);
        path_of(file, path);
        file->identity = identity_of(path, (uint64_t) status.st_ino);
        file->length = (uint64_t) status.st_size;
        file->room = room(file->descriptor);
        *error = allocate(file, &status);
        if (0 != *error) {
            return (ENOSPC == *error || EDQUOT == *error || EFBIG == *error)
                       ? OSC_CACHED_FILE_FULL
                       : OSC_CACHED_FILE_UNUSABLE;
        }
    }
    if (0 < plan->file_size + plan->memory_size && !map(file)) {
        *error = errno;
        return (ENOMEM == errno) ? OSC_CACHED_FILE_MEMORY : OSC_CACHED_FILE_UNUSABLE;
    }
    return OSC_CACHED_FILE_GOOD;
}

static void unmap(ompi_osc_cached_file_t *file)
{
    if (NULL != file->base) {
        (void) munmap(file->base, file->mapped);
        file->base = NULL;
    }
}

/* A store would do, but end the process by a signal where the file system is not writable any
 * more. */
static bool redirty(char *from, size_t length)
{
#ifdef MADV_POPULATE_WRITE
    return 0 == madvise(from, length, MADV_POPULATE_WRITE);
#else
    (void) from;
    (void) length;
    return false;
#endif
}

bool ompi_osc_cached_file_redirty(const ompi_osc_cached_file_t *file)
{
    unsigned char present[1024];
    size_t page = (size_t) ompi_osc_cached_file_page();
    size_t pages = ((size_t) file->plan.file_size + page - 1) / page;
    char *base = ompi_osc_cached_file_bytes(file);

    for (size_t i = 0; i < pages; i += sizeof(present)) {
        size_t count = (pages - i < sizeof(present)) ? pages - i : sizeof(present);

        if (0 != mincore(base + i * page, count * page, present)) {
            return false;
        }
        for (size_t j = 0, run = 0; j < count; j += run + 1) {
            for (run = 0; j + run < count && 0 != present[j + run] % 2; ++run) {
            }
            if (0 < run && !redirty(base + (i + j) * page, run * page)) {
                return false;
            }
        }
    }
    return true;
}

void ompi_osc_cached_file_leave(ompi_osc_cached_file_t *file)
{
    struct flock range = {.l_type = F_RDLCK,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t) file->wish.offset,
                          .l_len = (off_t) file->plan.file_size};

    if (file->wish.unlinks && -1 != file->descriptor) {
        unlink_it(file);
    }
    file->wish.unlinks = false;
    (void) fcntl(file->descriptor, F_OFD_SETLK, &range);
}

void ompi_osc_cached_file_unlock(ompi_osc_cached_file_t *file)
{
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    (void) fcntl(file->descriptor, F_OFD_SETLK, &all);
}

bool ompi_osc_cached_file_has_name(const ompi_osc_cached_file_t *file)
{
    struct stat status;

    return 0 != fstat(file->descriptor, &status) || 0 < status.st_nlink;
}

void ompi_osc_cached_file_close(ompi_osc_cached_file_t *file)
{
    unmap(file);
    if (-1 != file->descriptor) {
        ompi_osc_cached_file_leave(file);
        ompi_osc_cached_file_unlock(file); /* a child of the process may have the descriptor, too */
        (void) close(file->descriptor);
        file->descriptor = -1;
    }
}

void ompi_osc_cached_file_undo(ompi_osc_cached_file_t *file)
{
    owner_t owner = (-1 == file->descriptor) ? OTHERS : lock(file->descriptor, 0, 0);
    uint64_t end = file->wish.offset + file->plan.file_size;
    uint64_t length = (file->length < file->wish.offset) ? file->wish.offset : file->length;
    struct stat status;

    file->wish.unlinks = file->created && OTHERS != owner;
    /* nothing but what was ours: others may have had bytes before it meanwhile, or appended some */
    if (!file->created && OURS == owner && UINT64_MAX != file->length
        && 0 == fstat(file->descriptor, &status) && length < (uint64_t) status.st_size
        && (uint64_t) status.st_size <= end) {
        (void) !ftruncate(file->descriptor, (off_t) length); /* else it stays longer */
    }
    ompi_osc_cached_file_close(file);
}
