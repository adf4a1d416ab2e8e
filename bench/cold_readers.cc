// SPDX-License-Identifier: MIT
//
// Bare readers copy rows from a mapping without readahead. They request the pages of a window of rows while they copy
// those of the window before, so that the disk always has work, and never more of it than its queue holds.
#include "cold_readers.h"

#include "fixture.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static constexpr std::size_t window = 128; // rows; two of them are under way
static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));

static void gather(const inlay_table &table, const Reading &reading, const std::int32_t *ids)
{
    require(inlay_gather(&table, ids, INLAY_ID_I32, reading.rows, 1, reading.out, reading.width, nullptr, nullptr));
}

static void gather_mapped(const Reading &reading, const std::int32_t *ids)
{
    gather(reading.table.view, reading, ids);
}

static void gather_resident(const Reading &reading, const std::int32_t *ids)
{
    inlay_table table = reading.table.view;
    table.data = reading.resident;
    gather(table, reading, ids);
}

static void read_ahead(const Reading &reading, const std::int32_t *ids)
{
    inlay_file_read read;
    inlay_file_read_begin(reading.file.file, &reading.table.view, ids, INLAY_ID_I32, reading.rows, &read);
    gather_mapped(reading, ids);
    inlay_file_read_end(reading.file.file, &read);
}

// Where a row begins in its table.
static std::size_t row_at(const Reading &reading, std::int32_t id)
{
    return static_cast<std::size_t>(id) * reading.width;
}

// The pages of a row in the mapping of bare readers.
static iovec pages_of(const Reading &reading, std::int32_t id)
{
    const auto row = reinterpret_cast<std::uintptr_t>(reading.table.bare + row_at(reading, id));
    const std::uintptr_t begin = row / page * page, end = (row + reading.width + page - 1) / page * page;
    return {reinterpret_cast<void *>(begin), end - begin};
}

using Request = void (*)(const Reading &reading, const std::int32_t *ids, std::size_t rows);

static void request_by_madvise(const Reading &reading, const std::int32_t *ids, std::size_t rows)
{
    for (std::size_t i = 0; i < rows; i++) {
        const iovec pages = pages_of(reading, ids[i]);
        madvise(pages.iov_base, pages.iov_len, MADV_WILLNEED);
    }
}

static void request_by_fadvise(const Reading &reading, const std::int32_t *ids, std::size_t rows)
{
    for (std::size_t i = 0; i < rows; i++) {
        const std::size_t row = reading.table.offset + row_at(reading, ids[i]), begin = row / page * page;
        posix_fadvise(reading.file.descriptor(), static_cast<off_t>(begin),
                      static_cast<off_t>(row + reading.width - begin), POSIX_FADV_WILLNEED);
    }
}

// All runs of a window in one call.
static void request_by_process_madvise(const Reading &reading, const std::int32_t *ids, std::size_t rows)
{
#if defined(SYS_process_madvise) && defined(SYS_pidfd_open)
    static const long self = syscall(SYS_pidfd_open, getpid(), 0);
    iovec pages[window];
    for (std::size_t i = 0; i < rows; i++)
        pages[i] = pages_of(reading, ids[i]);
    syscall(SYS_process_madvise, self, pages, rows, MADV_WILLNEED, 0);
#endif
}

static void copy_rows(const Reading &reading, const std::int32_t *ids, std::size_t first, std::size_t end)
{
    for (std::size_t i = first; i < end; i++)
        std::memcpy(reading.out + i * reading.width, reading.table.bare + row_at(reading, ids[i]), reading.width);
}

template <Request request> static void read_in_windows(const Reading &reading, const std::int32_t *ids)
{
    std::size_t requested = std::min(window, reading.rows);
    request(reading, ids, requested);
    for (std::size_t first = 0; first < reading.rows; first += window) {
        const std::size_t next = std::min(window, reading.rows - requested);
        request(reading, ids + requested, next);
        requested += next;
        copy_rows(reading, ids, first, std::min(first + window, reading.rows));
    }
}

const std::vector<Reader> &readers()
{
    static const std::vector<Reader> all = {
        {Temperature::cold, true, "cold_read", read_ahead},
        {Temperature::cold, false, "cold_faults", gather_mapped},
        {Temperature::cold, false, "cold_madvise", read_in_windows<request_by_madvise>},
        {Temperature::cold, false, "cold_process_madvise", read_in_windows<request_by_process_madvise>},
        {Temperature::cold, false, "cold_fadvise", read_in_windows<request_by_fadvise>},
        {Temperature::warm, true, "warm_read", read_ahead},
        {Temperature::warm, false, "warm_resident", gather_resident},
        {Temperature::warm, false, "warm_mapped", gather_mapped},
    };
    return all;
}
