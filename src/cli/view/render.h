#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "cli/view/last_lines.h"
#include "cli/view/sgr.h"
#include "job/outcome/steps.h"
#include "platform/job_run.h"

namespace muster::cli {

/// Converts all events of a job to text for a person or for a program. Pure: `out` grows.
class Render {
 public:
  virtual ~Render() = default;
  virtual void status(const platform::StatusLine& line) = 0;
  virtual void lines(const std::string& host, UnixMillis time, const job::Lines& lines) = 0;
  virtual void log(const std::string& host, UnixMillis time, const job::LogLine& line) = 0;
  /// Shows unfinished lines.
  virtual void finish() {}
};

struct RenderOptions {
  bool colour = false;  ///< Also programs' own colours. Else these are removed.
  /// Unfinished lines are shown at once. Else they wait for their rest, so that a file contains
  /// only whole lines.
  bool live = false;
  /// Hosts' lines unchanged. Else painted().
  bool raw = false;
  bool utc = false;      ///< Times are UTC, not local.
  bool verbose = false;  ///< Also muster's own lines below the level of warnings.
  int hosts = 1;         ///< For the width of tags.
  int ranks = 1;
  /// When live, the terminal's current width; 0 or empty: unknown. A progress bar that wraps could
  /// not be overwritten.
  std::function<int()> columns{};
};

/// For people: `algo-2 rank 3 | text`, with `!` instead of `|` for standard error. Standard error
/// is not red, because many programs also write ordinary output there. Statuses look as the
/// SageMaker SDK prints them; the first, and each with another offset, has its time's offset. Every
/// line of a host carries its tag, and muster's own messages are one line each without control
/// characters, so a host's output cannot imitate them.
///
/// The states of a progress bar are one live line until something else is shown; else one line per
/// second, and the last.
class PlainRender final : public Render {
 public:
  PlainRender(std::string& out, RenderOptions options);
  void status(const platform::StatusLine& line) override;
  void lines(const std::string& host, UnixMillis time, const job::Lines& lines) override;
  void log(const std::string& host, UnixMillis time, const job::LogLine& line) override;
  void finish() override;

 private:
  struct Writer {
    std::string tag;
    std::string waiting;    ///< The beginning of an unfinished line.
    bool open = false;      ///< `out` ends with an unfinished line of this writer.
    bool progress = false;  ///< The current line is a progress bar.
    TextStyle style{};      ///< The program has set it, up to here in its line.
    bool rewinds = false;   ///< The end of `out` is such a state, which will be overwritten.
    job::Steps steps{};
  };
  Writer& writer(const std::string& host, int rank, job::Stream stream);
  void part(Writer& writer, UnixMillis time, std::string_view bytes);
  void steps(Writer& writer, UnixMillis time, std::string_view bytes);
  void show_state(Writer& writer, UnixMillis time, std::string text);
  void show_held(Writer& writer);
  std::string fitting(std::string_view text) const;
  void append(Writer& writer, std::string_view bytes);
  std::string take_waiting(Writer& writer);
  void begin_line(Writer& writer);
  std::string time_text(UnixMillis time);
  void break_line();

  std::string& out_;
  RenderOptions options_;
  std::string offset_;  ///< Offset of the last time that was shown.
  std::size_t tag_width_;
  std::size_t waiting_bytes_ = 0;  ///< Sum over all writers.
  std::map<std::tuple<std::string, int, job::Stream>, Writer> writers_;
  Writer* at_ = nullptr;  ///< The writer whose unfinished line is at the end of `out`.
};

/// One JSON object per line, of type status, line or log; see docs/protocols/fit-json.md.
class JsonRender final : public Render {
 public:
  explicit JsonRender(std::string& out) : out_(out) {}
  void status(const platform::StatusLine& line) override;
  void lines(const std::string& host, UnixMillis time, const job::Lines& lines) override;
  void log(const std::string& host, UnixMillis time, const job::LogLine& line) override;

 private:
  void line(std::string_view text, std::string_view head, const job::Lines& of);
  std::string& out_;
};

/// Appends `text` (UTF-8) as a JSON string, with its quotes: as visible_json() shows it.
void append_json_string(std::string& out, std::string_view text);

/// Describes the end of a failed, stopped or timed-out job to a person; empty for a completed job.
/// `last`: shown for a job that exceeded its time limit.
std::string verdict_text(const platform::JobReport& report, const LastLines& last, bool colour);
/// "Training seconds" and "Billable seconds" as SageMaker's SDK prints them: the whole seconds of
/// one host, times the number of hosts.
std::string seconds_text(std::int64_t training, std::int64_t billable, int hosts);
/// The last object of --json. `metrics`: the last values by name; null: the job defines no metrics.
std::string end_object(const platform::JobReport& report, const std::string& job,
                       const std::string& output, int hosts, int exit_code, const Json& metrics);

}  // namespace muster::cli
