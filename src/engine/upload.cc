#include "engine/upload.h"

#include <unistd.h>

#include "base/text.h"
#include "base/topic.h"

namespace muster::engine {
namespace {

constexpr std::chrono::hours upload_limit{24 * 7};

/// What the program said last, without its name.
std::string last_line(const std::string& said) {
  std::string line = to_utf8(said.substr(said.rfind('\n') + 1));
  constexpr std::string_view name = "sm steward: ";
  if (const std::size_t at = line.find(name); at != std::string::npos)
    line = line.substr(at + name.size());
  return line.starts_with("error: ") ? line.substr(7) : line;
}

}  // namespace

loop::Task<Result<std::string>> upload(supervise::Programs& programs, UploadProgram program,
                                       std::string job_folder, bool completed) {
  Command command{.argv = {program.program, "steward", "--upload", std::move(job_folder)},
                  .env = std::move(program.env),
                  .cwd = "/"};
  if (completed) command.argv.push_back("--completed");
  Result<supervise::Programs::Done> done = co_await programs.run(std::move(command), upload_limit);
  if (!done) co_return done.error();
  if (done->outcome.success()) co_return trim(done->out);
  std::string line = last_line(trim(done->err));
  co_return fail(Errc::system,
                 line.empty() ? job::describe(done->outcome) : without_topic(std::move(line)));
}

bool is_uploaded(const std::string& job_folder) {
  return ::access((job_folder + "/uploaded.json").c_str(), F_OK) == 0;
}

}  // namespace muster::engine
