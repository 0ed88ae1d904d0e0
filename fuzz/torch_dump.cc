// Dumps of PyTorch's Flight Recorder, which a job wrote: pickles.
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.h"
#include "fuzz.h"
#include "job/wire/flight_record.h"

namespace muster {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<std::vector<job::Flight>> flights = job::flights_from(3, bytes);
  if (!flights) return 0;
  CHECK_THAT(flights->size() <= job::flight_groups_max, "a rank has few groups");
  for (const job::Flight& flight : *flights)
    CHECK_THAT(is_utf8(flight.group) && is_utf8(flight.operation), "what is shown is text");
  CHECK_THAT(*job::flights_from_json(job::to_json(*flights)) == *flights, "flights read back");
  static_cast<void>(job::flight_report(*flights));
  return 0;
}

}  // namespace muster
