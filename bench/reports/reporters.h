// SPDX-License-Identifier: MIT
//
// Reporters print rows in order: as a table for people, unless another format is requested. They only convert units.
#pragma once

#include <benchmark/benchmark.h>
#include <memory>
#include <string>
#include <vector>

class TableReporter : public benchmark::BenchmarkReporter
{
  public:
    explicit TableReporter(const std::string &seed); // of random shapes; empty: none
    bool ReportContext(const Context &context) override;
    void ReportRuns(const std::vector<Run> &runs) override;

  private:
    const std::string seed_;
    std::string kernel_; // of the previous row
};

// Wraps another reporter. Removes the suffixes for iterations and clock that Google Benchmark appends to names, so a
// row is named embed/avx2/...
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
