#include "server/service.h"

#include <nlohmann/json.hpp>

#include "api/inputs.h"

namespace muster::server {

Service::Service(loop::Loop& loop, engine::Engine& engine, store::Store& store,
                 access::KeyRing& keys, registry::RegistryServer& registry, const Log& log,
                 Options options)
    : log_(log),
      stacks_(store, {options.realm, options.runner.now, std::move(options.networks)}),
      logs_(store, options.realm,
            [this](const std::string& job, const std::string& host) {
              return runner_.journal_of(job, host);
            }),
      metrics_(loop, store,
               [this](const std::string& job, const std::string& host) {
                 return runner_.journal_of(job, host);
               }),
      runner_(loop, engine, store, logs_, metrics_, keys, log, options.runner),
      operations_(store, runner_, logs_, metrics_, stacks_, {options.realm, options.runner.now}),
      timelines_(loop, store,
                 [this](const std::string& job, const std::string& host) {
                   return runner_.journal_of(job, host);
                 }),
      ecr_(loop, keys, registry, {options.realm, options.runner.now, options.url}) {}

Result<void> Service::start() {
  const std::vector<std::string> notes = TRY(stacks_.start());
  for (const std::string& note : notes) log_.warning(note);
  return runner_.start();
}

loop::Task<api::Answer> Service::operate(api::Request request) {
  if (request.service == "monitoring") {
    const Result<void> caught_up = co_await metrics_.catch_up(request.input);
    if (!caught_up) co_return api::internal_failure(caught_up.error());
  }
  if (request.own == api::Own::timeline)
    co_return co_await timelines_.describe(api::text_of(request.input, "TrainingJobName"));
  if (request.service == "ecr") co_return co_await ecr_.operate(std::move(request));
  co_return operations_.operate(request);
}

}  // namespace muster::server
