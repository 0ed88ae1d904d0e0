#include "machine/sampler/py_spy.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/json.h"

namespace muster::sampler {
namespace {

job::StackFrame call_from(const Json& frame) {
  job::StackFrame call{.function = member_text(frame, "name"),
                       .file = member_text(frame, "filename")};
  const auto line = frame.find("line");
  if (line != frame.end() && line->is_number_integer() && *line > 0 && *line < (1 << 30))
    call.line = line->get<int>();
  return call;
}

}  // namespace

Result<std::vector<PythonThread>> threads_from(std::string_view text) {
  const auto invalid = [] {
    return fail(Errc::protocol, "py-spy: the output is not a list of threads");
  };
  const Result<Json> json = parse_json(text);
  if (!json || !json->is_array()) return invalid();
  std::vector<PythonThread> threads;
  for (const Json& each : *json) {
    if (!each.is_object() || !each.contains("frames") || !each["frames"].is_array())
      return invalid();
    PythonThread thread;
    const auto number = each.find("os_thread_id");
    if (number != each.end() && number->is_number_integer())
      thread.number = number->get<std::int64_t>();
    thread.stack.name = member_text(each, "thread_name");
    thread.stack.runs = each.value("active", Json()) == true;
    for (const Json& frame : each["frames"])
      if (frame.is_object()) thread.stack.calls.push_back(call_from(frame));
    threads.push_back(std::move(thread));
  }
  // py-spy prints the first thread last.
  std::reverse(threads.begin(), threads.end());
  return threads;
}

}  // namespace muster::sampler
