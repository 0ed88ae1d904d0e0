#include "platform/failure_reason.h"

#include "job/outcome/shown_words.h"

namespace muster::platform {

std::string failure_reason(const JobReport& report) {
  const JobEnd& end = report.end;
  if (end.status != JobEnd::Status::failed) return {};
  const auto text = [](const std::string& headline, const std::string& words = {}) {
    return job::reason_text(headline, words, failure_reason_characters_max);
  };
  using Taken = JobEnd::Taken;
  if (end.taken == Taken::card_broken || end.taken == Taken::card_memory)
    return text("InternalServerError: " + end.reason);
  using Kind = job::Outcome::Kind;
  const Kind kind = end.verdict.outcome.kind;
  const bool programs_own = kind == Kind::exited || kind == Kind::signaled;
  if (!programs_own || !report.trouble.empty()) return text("ClientError: " + end.reason);
  if (!end.failure_file.empty()) return text("AlgorithmError: " + end.failure_file);
  return text("AlgorithmError: " + end.reason, job::excerpt(end.verdict));
}

}  // namespace muster::platform
