// SPDX-License-Identifier: MIT
//
// Where rows go: to the table that people read, unless another format is requested. The reporters print the rows in
// their order and compute nothing but units.
#pragma once

#include <benchmark/benchmark.h>
#include <memory>
#include <string>
#include <vector>

class TableReporter : public benchmark::BenchmarkReporter
{
  public:
    explicit TableReporter(const std::string &seed); // of random shapes, or empty
    bool ReportContext(const Context &context) override;
    void ReportRuns(const std::vector<Run> &runs) override;

  private:
    const std::string seed_;
    std::string kernel_; // of the previous row
};

// Wraps another reporter and removes what Google Benchmark appends to names because of iterations and clock: a row is
// named embed/avx2/... and no more.
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
