#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "cli/view/last_lines.h"
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
  /// Lines that were never finished are shown now.
  virtual void finish() {}
};

struct RenderOptions {
  bool colour = false;
  /// Unfinished lines are shown at once; else they wait for their rest, so that a file holds every
  /// line whole.
  bool live = false;
  /// Hosts' lines as they are. Else what would give a terminal orders is written out (visible()).
  bool raw = false;
  bool verbose = false;  ///< Muster's own lines below warnings too.
  int hosts = 1;         ///< For the width of tags.
  int ranks = 1;
  /// When live, the terminal's width at the moment; 0 or none: not known. A progress bar that wraps
  /// could not be written over.
  std::function<int()> columns{};
};

/// For people: `algo-2 rank 3 | text`, `!` instead of `|` for standard error, which is not red:
/// much that goes there is no trouble; statuses as the SageMaker SDK prints them. Every line of a
/// host carries its tag, and what muster says of its own is one line without control characters: no
/// host's bytes can look like it.
///
/// A progress bar's states are one live line as long as nothing else is told, else one line a
/// second and the last.
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
    std::string waiting;    ///< The beginning of a line whose rest has not come.
    bool open = false;      ///< `out` ends with an unfinished line of it.
    bool progress = false;  ///< Shows the states of a progress bar.
    bool rewinds = false;   ///< The end of `out` is such a state, which will be overwritten.
    job::Steps steps{};
  };
  Writer& writer(const std::string& host, int rank, job::Stream stream);
  void part(Writer& writer, UnixMillis time, std::string_view bytes);
  void steps(Writer& writer, UnixMillis time, std::string_view bytes);
  void show_state(Writer& writer, UnixMillis time, std::string text);
  void show_held(Writer& writer);
  std::string fitting(std::string_view text) const;
  void append(std::string_view bytes);
  void append_waiting(Writer& writer);
  void begin_line(Writer& writer);
  void break_line();

  std::string& out_;
  RenderOptions options_;
  std::size_t tag_width_;
  std::size_t waiting_bytes_ = 0;  ///< Sum over all writers.
  std::map<std::tuple<std::string, int, job::Stream>, Writer> writers_;
  Writer* at_ = nullptr;  ///< The one whose unfinished line is the last thing in `out`.
};

/// One JSON object a line: type status, line or log; see docs/protocols/fit-json.md.
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

/// The end of a failed, stopped or timed out job for a person; empty for a completed one. `last`:
/// shown for a job that exceeded its time limit.
std::string verdict_text(const platform::JobReport& report, const LastLines& last, bool colour);
/// "Training seconds" and "Billable seconds" as SageMaker's SDK prints them: of all hosts, from
/// whole seconds of one.
std::string seconds_text(std::int64_t training, std::int64_t billable, int hosts);
/// The last object of --json. `metrics`: their last values by name; null: the job defines none.
std::string end_object(const platform::JobReport& report, const std::string& job,
                       const std::string& output, int hosts, int exit_code, const Json& metrics);

}  // namespace muster::cli
