#include "host/calls/output.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/frame.h"
#include "base/json.h"
#include "base/terminal.h"
#include "host/ranks/rsh_agent.h"
#include "job/wire/message.h"

namespace muster::calls {

Output::Output(loop::Loop& loop, std::optional<int> steward_fd)
    : steward_(steward_fd.has_value()),
      out_(loop, steward_fd.value_or(STDOUT_FILENO)),
      err_(loop, STDERR_FILENO) {}

std::string Output::shown(const Writer& to, std::string text) const {
  return to.is_terminal() ? visible(text) : text;
}

void Output::post_lines(const std::string& host, job::Lines lines) {
  std::string text;
  lines.alone = !tagged_;
  if (steward_)
    append_frame(text, job::type_of(job::Message::lines), job::encode(lines));
  else if (tagged_ && lines.rank >= 0)
    text = shown(out_, tags_.tagged(host, lines));
  else if (lines.stream == job::Stream::err)
    return err_.post(shown(err_, std::move(lines.bytes)));
  else
    return out_.post(shown(out_, std::move(lines.bytes)));
  out_.post(text);
}

loop::Task<> Output::lines(std::string host, job::Lines lines) {
  post_lines(host, std::move(lines));
  co_await out_.room();
  co_await err_.room();
}

loop::Task<> Output::launcher_lines(job::Lines lines) {
  lines.rank = -1;
  lines.stream = job::Stream::err;
  if (!lines.part) {
    lines.bytes = launch::without_group_warning(lines.bytes);
    if (lines.bytes.empty()) co_return;
  }
  if (steward_) {
    std::string frame;
    append_frame(frame, job::type_of(job::Message::lines), job::encode(lines));
    out_.post(frame);
    co_return co_await out_.room();
  }
  err_.post(shown(err_, std::move(lines.bytes)));
  co_await err_.room();
}

void Output::ended(const job::Verdict& verdict) {
  if (!steward_) return;
  std::string frame;
  append_frame(frame, job::type_of(job::Message::outcome), to_text(job::to_json(verdict)));
  out_.post(frame);
}

void Output::verdict(const job::Verdict& verdict) {
  if (!steward_) return;
  std::string frame;
  append_frame(frame, job::type_of(job::Message::verdict), to_text(job::to_json(verdict)));
  out_.post(frame);
}

void Output::rank_started(const job::RankStart& start) {
  if (!steward_) return;
  std::string frame;
  append_frame(frame, job::type_of(job::Message::rank_started), job::encode(start));
  out_.post(frame);
}

void Output::health(const std::string& host, const std::string& record) {
  const Result<Json> json = parse_json(record);
  if (!steward_ || !json) return;
  std::string frame;
  append_frame(frame, job::type_of(job::Message::preflight_facts),
               to_text(Json{{"host", host}, {"record", *json}}));
  out_.post(frame);
}

void Output::mark(job::Mark mark) {
  if (!steward_ || !marked_.insert(mark).second) return;
  std::string frame;
  append_frame(frame, job::type_of(job::Message::mark), job::encode(job::Moment{mark}));
  out_.post(frame);
}

loop::Task<> Output::flushed(TimePoint deadline) {
  co_await out_.flushed(deadline);
  co_await err_.flushed(deadline);
}

}  // namespace muster::calls
