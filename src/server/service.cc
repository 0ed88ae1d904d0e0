#include "server/service.h"

#include <nlohmann/json.hpp>

#include "server/inputs.h"

namespace muster::server {

Service::Service(loop::Loop& loop, Store& store, objects::KeyRing& keys, Options options)
    : logs_(store, options.realm,
            [this](const std::string& job, const std::string& host) {
              return runner_.journal_of(job, host);
            }),
      metrics_(loop, store,
               [this](const std::string& job, const std::string& host) {
                 return runner_.journal_of(job, host);
               }),
      runner_(loop, store, logs_, metrics_, keys, options.runner),
      operations_(store, runner_, logs_, metrics_, {options.realm, options.runner.now}) {}

loop::Task<Answer> Service::operate(Call call) {
  if (call.service == "monitoring") {
    const Result<void> caught_up = co_await metrics_.catch_up(call.input);
    if (!caught_up) co_return internal_failure(caught_up.error());
  }
  co_return operations_.operate(call);
}

}  // namespace muster::server
