#pragma once

// Includes CLI11: for few .cc files only.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "cli/parsed.h"

namespace muster::cli {

/// `sm fit` as it is typed, before values are checked.
struct FitWords {
  std::string script, source_folder, hosts, processes_per_host, custom_mpi_options;
  std::string output, name, python, timeout, grace;
  std::vector<std::string> inputs, hyperparameters, environment;
  bool mpi = false, keep = false, json = false, raw = false, verbose = false, print_plan = false;
};
struct CleanOptions {
  bool all = false;
  bool json = false;
};
struct DoctorOptions {
  bool json = false;
};
struct CompletionOptions {
  std::string shell;
};
struct JobsOptions {
  std::string status, name, limit;
  bool json = false;
};
struct DescribeOptions {
  std::string job;
  bool json = false;
};
struct LogsOptions {
  std::string job;
  bool follow = false, json = false, raw = false;
};
struct StopOptions {
  std::string job;
  bool wait = false;
};
/// `sm submit` as it is typed.
struct SubmitWords {
  std::string name, json_file, script, source_folder, image, instance_type;
  std::string hosts, processes_per_host, custom_mpi_options, output, timeout;
  std::vector<std::string> inputs, hyperparameters, environment;
  bool mpi = false, wait = false, json = false, raw = false;
};

/// Help for the flag --raw of all commands that show a job's lines.
constexpr const char* raw_help =
    "pass hosts' lines to a terminal as they are; else what would order it about (colours too)\n"
    "is written out";

/// Add a command's options to its app; what is parsed goes into the second argument, which outlives
/// the app.
void add_fit(CLI::App& app, FitWords& words);
void add_clean(CLI::App& app, CleanOptions& options);
void add_doctor(CLI::App& app, DoctorOptions& options);
void add_completion(CLI::App& app, CompletionOptions& options);
void add_jobs(CLI::App& app, JobsOptions& options);
void add_describe(CLI::App& app, DescribeOptions& options);
void add_logs(CLI::App& app, LogsOptions& options);
void add_stop(CLI::App& app, StopOptions& options);
void add_submit(CLI::App& app, SubmitWords& words);

/// All of `sm`'s commands that people type, as one tree, for completion and documentation. Its
/// options go nowhere: it is not for parsing.
struct CommandTree {
  CommandTree();
  CLI::App root;
  FitWords fit;
  CleanOptions clean;
  DoctorOptions doctor;
  CompletionOptions completion;
  JobsOptions jobs;
  DescribeOptions describe;
  LogsOptions logs;
  StopOptions stop;
  SubmitWords submit;
  bool ignored = false;
};

/// Why parsing ended early: help was asked for, or the line is wrong.
struct Stop {
  int exit_code;
  std::string text;
};
/// Parses `args` into what was added to `app`. Never throws.
std::optional<Stop> parse(CLI::App& app, const Args& args);
/// A Stop for a wrong value, in the form that parse() uses.
Stop wrong_line(const CLI::App& app, const std::string& text);

}  // namespace muster::cli
