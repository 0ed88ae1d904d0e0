#include "server/service.h"

namespace muster::server {

Service::Service(loop::Loop& loop, Store& store, objects::KeyRing& keys, Options options)
    : logs_(store, options.realm,
            [this](const std::string& job, const std::string& host) {
              return runner_.journal_of(job, host);
            }),
      metrics_(store, logs_),
      runner_(loop, store, logs_, metrics_, keys, options.runner),
      operations_(store, runner_, logs_, metrics_, {options.realm, options.runner.now}) {}

}  // namespace muster::server
