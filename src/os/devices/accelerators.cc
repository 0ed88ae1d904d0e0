#include "os/devices/accelerators.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/files/folder.h"
#include "base/text.h"
#include "job/limits.h"
#include "job/training/python_json.h"
#include "os/supervise/answer.h"

namespace muster::env {
int count_gpus(const Env& env) {
  const auto given = env.find("MUSTER_NUM_GPUS");
  if (given != env.end())
    if (const std::optional<std::int64_t> number = parse_integer(given->second);
        number && *number >= 0 && *number <= job::gpus_max)
      return static_cast<int>(*number);
  int count = 0;
  for (const std::string& name : names_in("/dev").value_or({}))
    if (name.starts_with("nvidia") && parse_integer(std::string_view(name).substr(6))) ++count;
  if (count > 0) return count;
  const std::optional<std::string> listed =
      answer_of({.argv = {"nvidia-smi", "--list-gpus"}, .env = env, .cwd = "/"});
  if (!listed) return 0;
  const std::vector<std::string> lines = split(*listed, '\n');
  return static_cast<int>(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("GPU ");
  }));
}

int count_neurons(const Env& env) {
  const std::optional<std::string> listed =
      answer_of({.argv = {"neuron-ls", "-j"}, .env = env, .cwd = "/"});
  const Result<job::PyValue> devices = job::python_loads(listed.value_or("[]"));
  if (!devices) return 0;
  std::int64_t count = 0;
  for (const job::PyValue& device : devices->items) {
    const job::PyValue* cores = device.find("nc_count");
    if (cores != nullptr && cores->kind == job::PyValue::Kind::integer)
      count += parse_integer(cores->text).value_or(0);
  }
  return static_cast<int>(std::clamp<std::int64_t>(count, 0, 1 << 20));
}

}  // namespace muster::env
