#pragma once

#include <map>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "cli/view/render.h"

namespace muster::cli {

/// A job's log as files: everything in `all.log`, and each host's lines also in `HOST.log`. Bytes
/// are written unchanged.
class LogFolder final : public Render {
 public:
  /// `folder` exists and is empty.
  LogFolder(std::string folder, RenderOptions options);
  void status(const platform::StatusLine& line) override;
  void lines(const std::string& host, UnixMillis time, const job::Lines& lines) override;
  void log(const std::string& host, UnixMillis time, const job::LogLine& line) override;
  void finish() override;
  /// Writes what was added since the last call. Blocks. Error: as open(2) and write(2), with the
  /// file's name.
  Result<void> flush();

 private:
  struct File {
    explicit File(const RenderOptions& options) : render(text, options) {}
    std::string text;
    PlainRender render;
    Fd fd;
  };
  File& file(const std::string& name);

  const std::string folder_;
  RenderOptions options_;
  std::map<std::string, File> files_;  ///< By name, without ".log".
};

}  // namespace muster::cli
