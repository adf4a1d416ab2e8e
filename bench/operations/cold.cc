// SPDX-License-Identifier: MIT
//
// Tables larger than memory: ways to read random rows of a mapped file whose pages are on disk, or already in memory.
// Bare readers copy rows from a mapping without readahead. They request the pages of one window of rows while they copy
// those of the window before. So the disk always has work, but never more than its queue holds.
#include "operations/operations.h"
#include "shapes/cold_file.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// The rows to read: from one table, to one output.
struct Reading {
    const ColdFile &file;
    const ColdTable &table;
    const unsigned char *resident; // a copy of the table in ordinary memory; null for cold tables
    std::size_t rows, width;       // of a call; in bytes
    unsigned char *out;            // [rows, width]
};

static constexpr std::size_t window = 128; // rows; two windows are in flight
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

// Returns the offset of a row in its table.
static std::size_t row_at(const Reading &reading, std::int32_t id)
{
    return static_cast<std::size_t>(id) * reading.width;
}

// Returns the pages of a row in the bare readers' mapping.
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

// Requests all runs of a window in one call.
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

static const ColdFile &the_file()
{
    static const ColdFile file;
    return file;
}

// State shared by the rounds of one shape. A table is read and copied once, unless pages were dropped in between.
struct State {
    const ColdTable *table{}, *in_memory{};
    Pages<unsigned char> copy{}; // in small pages, like the mapping
    std::vector<std::int32_t> ids{};
    std::size_t next{};
};

static State state;

static void choose_table(const Fixture &f)
{
    static constexpr std::size_t ids = std::size_t{1} << 22; // enough that no cache holds their rows
    const ColdTable *table = &the_file().table(f.row_bytes);
    if (state.table != table)
        state.ids = make_ids(Ids::uniform, table->view.rows, ids);
    state.table = table;
}

static void drop_pages(const Fixture &f)
{
    choose_table(f);
    state.in_memory = nullptr;
    const double remained = the_file().drop();
    if (remained > 0.01)
        std::fprintf(stderr, "inlay_bench: %.0f %% of the file remained in memory\n", 100 * remained);
}

static void keep_in_memory(const Fixture &f)
{
    choose_table(f);
    if (state.in_memory == state.table)
        return;
    state.copy.reset();
    the_file().warm(*state.table);
    state.copy = make_pages<unsigned char>(state.table->bytes, small_pages);
    std::memcpy(state.copy.get(), state.table->view.data, state.table->bytes);
    state.in_memory = state.table;
}

using Read = void (*)(const Reading &reading, const std::int32_t *ids);

// Reads different rows in each call.
static Operation::Run reader(Read read)
{
    return reuse([read](const Fixture &f, float *out, const inlay_executor *) {
        state.next = state.next + f.rows > state.ids.size() ? 0 : state.next;
        const std::int32_t *ids = &state.ids[state.next];
        state.next += f.rows;
        read({the_file(), *state.table, state.copy.get(), f.rows, f.row_bytes, reinterpret_cast<unsigned char *>(out)},
             ids);
    });
}

void add_cold_operations(std::vector<Operation> &all)
{
    const auto add = [&](Role role, unsigned series, const char *name, Read read, std::vector<std::string> limits,
                         std::vector<std::string> streams) {
        const bool waits_for_disk = series == cold;
        const unsigned traits = waits_for_disk ? unsigned{waits} : 0;
        all.push_back({role, name, series, traits, 2, std::move(limits), std::move(streams), reader(read)});
        all.back().prepare = waits_for_disk ? drop_pages : keep_in_memory;
    };
    add(Role::kernel, cold, "cold_read", read_ahead, {"cold_madvise", "cold_process_madvise", "cold_fadvise"},
        {"cold_faults"});
    add(Role::limit, cold, "cold_faults", gather_mapped, {}, {});
    add(Role::limit, cold, "cold_madvise", read_in_windows<request_by_madvise>, {}, {});
    add(Role::limit, cold, "cold_process_madvise", read_in_windows<request_by_process_madvise>, {}, {});
    add(Role::limit, cold, "cold_fadvise", read_in_windows<request_by_fadvise>, {}, {});
    add(Role::kernel, warm, "warm_read", read_ahead, {"warm_resident"}, {"warm_mapped"});
    add(Role::limit, warm, "warm_resident", gather_resident, {}, {});
    add(Role::limit, warm, "warm_mapped", gather_mapped, {}, {});
}
