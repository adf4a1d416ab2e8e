// SPDX-License-Identifier: MIT
//
// Where rows go: to the table that people read, or nowhere. main.cc hands the one to Google Benchmark where no other
// format is asked for, the other while it only learns which rows are chosen.
// They print what the rows carry, in the order in which they come, and compute nothing but units.
#ifndef INLAY_BENCH_REPORTERS_H
#define INLAY_BENCH_REPORTERS_H

#include <benchmark/benchmark.h>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

// What stands above the table, one line each.
struct Fact {
    std::string name, value;
};

class TableReporter : public benchmark::BenchmarkReporter
{
  public:
    explicit TableReporter(const std::vector<Fact> &facts);
    bool ReportContext(const Context &context) override;
    void ReportRuns(const std::vector<Run> &runs) override;

  private:
    const std::vector<Fact> &facts_;
    std::string kernel_; // of the row above
};

// Another reporter, without what Google Benchmark appends to names because of iterations and clock: embed/avx2/..., no
// more.
class PlainNamesReporter : public benchmark::BenchmarkReporter
{
  public:
    explicit PlainNamesReporter(benchmark::BenchmarkReporter *reporter);
    bool ReportContext(const Context &context) override;
    void ReportRuns(const std::vector<Run> &runs) override;
    void Finalize() override;

  private:
    std::unique_ptr<benchmark::BenchmarkReporter> reporter_;
};

class SilentReporter : public benchmark::BenchmarkReporter
{
  public:
    SilentReporter();
    bool ReportContext(const Context &context) override;
    void ReportRuns(const std::vector<Run> &runs) override;

  private:
    std::ostream nowhere_{nullptr};
};

#endif
