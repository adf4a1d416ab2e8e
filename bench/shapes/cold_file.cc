// SPDX-License-Identifier: MIT
//
// Blocks are written rather than reserved, because a file system answers reads of reserved blocks without the disk.
// Their contents are random, because some disks compress or merge equal blocks.
#include "shapes/cold_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <random>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <vector>

static constexpr std::size_t mib = std::size_t{1} << 20;
static constexpr std::size_t max_bytes = 4096 * mib;
static constexpr std::size_t data_begin = 4096; // in the file, after the safetensors header
static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

[[noreturn]] static void fail(const char *what)
{
    std::fprintf(stderr, "inlay_bench: %s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

static std::string find_folder()
{
    if (const char *folder = std::getenv("TMPDIR"))
        return folder;
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    const std::string program(path, length > 0 ? static_cast<std::size_t>(length) : 0);
    return program.empty() ? "." : program.substr(0, program.rfind('/'));
}

// Returns the bytes of each table, in whole MiB. The tables share 4 GiB, or a quarter of the free disk space if that is
// less.
static std::size_t bytes_of_each_table(const std::string &folder)
{
    struct statvfs disk;
    if (statvfs(folder.c_str(), &disk) != 0)
        fail(folder.c_str());
    const std::uint64_t quarter = static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize / 4;
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(quarter, max_bytes));
    if (bytes < 64 * mib) {
        errno = ENOSPC;
        fail(folder.c_str());
    }
    return bytes / std::size(cold_widths) / mib * mib;
}

// Opens a file that is removed when it is closed.
static int open_nameless(const std::string &folder)
{
    std::string path = folder + "/inlay_bench.XXXXXX";
    const int descriptor = mkstemp(path.data());
    if (descriptor < 0)
        fail(path.c_str());
    unlink(path.c_str());
    return descriptor;
}

// Returns the safetensors header, padded up to the data.
static std::string header_of(const ColdTable *tables)
{
    std::string json = "{";
    for (std::size_t i = 0; i < std::size(cold_widths); i++) {
        char tensor[256];
        const std::size_t begin = tables[i].offset - data_begin;
        std::snprintf(tensor, sizeof tensor, "%s\"w%zu\":{\"dtype\":\"U8\",\"shape\":[%zu],\"data_offsets\":[%zu,%zu]}",
                      i > 0 ? "," : "", cold_widths[i], tables[i].bytes, begin, begin + tables[i].bytes);
        json += tensor;
    }
    json += "}";
    json.resize(data_begin - 8, ' ');
    const std::uint64_t length = json.size();
    return std::string(reinterpret_cast<const char *>(&length), sizeof length) + json;
}

static void write_to(int descriptor, const void *from, std::size_t bytes)
{
    const auto *at = static_cast<const char *>(from);
    while (bytes > 0) {
        const ssize_t done = write(descriptor, at, bytes);
        if (done <= 0)
            fail("cannot write the file of cold tables");
        at += done;
        bytes -= static_cast<std::size_t>(done);
    }
}

void ColdFile::write_all() const
{
    const std::string header = header_of(tables_);
    write_to(descriptor_, header.data(), header.size());
    std::mt19937_64 random;
    std::vector<std::uint64_t> block(mib / sizeof(std::uint64_t));
    for (std::size_t at = data_begin; at < bytes_; at += mib) {
        std::generate(block.begin(), block.end(), std::ref(random));
        write_to(descriptor_, block.data(), mib);
    }
    if (fsync(descriptor_) != 0)
        fail("cannot write the file of cold tables");
}

static inlay_file *open_file(int descriptor)
{
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    inlay_file *file;
    inlay_file_error error;
    if (inlay_file_open(path.c_str(), nullptr, &file, &error) != INLAY_FILE_OK) {
        std::fprintf(stderr, "inlay_bench: %s\n", error.message);
        std::exit(1);
    }
    return file;
}

// Returns the view of a table. Its tensor is declared as bytes, since it need not be a whole number of rows.
static inlay_table view_of(const inlay_file *file, std::size_t width)
{
    const inlay_file_tensor *tensor = inlay_file_find_tensor(file, ("w" + std::to_string(width)).c_str());
    return inlay_table_f32(tensor->data, static_cast<std::size_t>(tensor->bytes) / width, width / sizeof(float));
}

// Reads part of the file sequentially, 1 MiB at a time, so the system reads ahead.
static void read_in_order(int descriptor, std::size_t offset, std::size_t bytes)
{
    std::vector<char> block(mib);
    for (std::size_t at = 0; at < bytes; at += mib)
        if (pread(descriptor, block.data(), mib, static_cast<off_t>(offset + at)) <= 0)
            fail("cannot read the file of cold tables");
}

ColdFile::ColdFile() : folder_(find_folder())
{
    const std::size_t bytes = bytes_of_each_table(folder_);
    bytes_ = data_begin;
    for (ColdTable &table : tables_) {
        table.offset = bytes_;
        table.bytes = bytes;
        bytes_ += bytes;
    }
    descriptor_ = open_nameless(folder_);
    std::fprintf(stderr, "inlay_bench: writing %zu MiB in %s\n", bytes_ / mib, folder_.c_str());
    write_all();
    void *mapping = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, descriptor_, 0);
    if (mapping == MAP_FAILED)
        fail("cannot map the file of cold tables");
    madvise(mapping, bytes_, MADV_RANDOM);
    bare_ = static_cast<unsigned char *>(mapping);
    file = open_file(descriptor_);
    for (std::size_t i = 0; i < std::size(cold_widths); i++) {
        tables_[i].view = view_of(file, cold_widths[i]);
        tables_[i].bare = bare_ + tables_[i].offset;
    }
    drop();
    const std::size_t bytes_read = std::min<std::size_t>(bytes_, 512 * mib) / mib * mib;
    const auto before = std::chrono::steady_clock::now();
    read_in_order(descriptor_, 0, bytes_read);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - before;
    std::fprintf(stderr, "inlay_bench: %.2f GB/s in order\n", 1e-9 * static_cast<double>(bytes_read) / seconds.count());
}

ColdFile::~ColdFile()
{
    inlay_file_close(file);
    munmap(bare_, bytes_);
    close(descriptor_);
}

const ColdTable &ColdFile::table(std::size_t width) const
{
    const auto *found = std::find(std::begin(cold_widths), std::end(cold_widths), width);
    return tables_[found - std::begin(cold_widths)];
}

static void drop_from_process(const unsigned char *begin, std::size_t bytes)
{
    auto *at = const_cast<unsigned char *>(begin - reinterpret_cast<std::uintptr_t>(begin) % page);
    madvise(at, static_cast<std::size_t>(begin - at) + bytes, MADV_DONTNEED);
}

double ColdFile::drop() const
{
    // The system keeps pages in its cache while a process maps them.
    drop_from_process(bare_, bytes_);
    for (const ColdTable &table : tables_)
        drop_from_process(static_cast<const unsigned char *>(table.view.data), table.bytes);
    posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED);
    std::vector<unsigned char> resident((bytes_ + page - 1) / page);
    if (mincore(bare_, bytes_, resident.data()) != 0)
        fail("cannot see what the cache holds");
    const auto count = std::count_if(resident.begin(), resident.end(), [](unsigned char one) { return one & 1; });
    return static_cast<double>(count) / static_cast<double>(resident.size());
}

void ColdFile::warm(const ColdTable &table) const
{
    read_in_order(descriptor_, table.offset, table.bytes);
    const volatile auto *view = static_cast<const volatile unsigned char *>(table.view.data), *bare = table.bare;
    for (std::size_t at = 0; at < table.bytes; at += page)
        (void)view[at], (void)bare[at];
}
