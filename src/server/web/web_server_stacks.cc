// The web page's view of the stacks of a job's processes.

#include "aws/api/inputs.h"
#include "job/wire/stacks.h"
#include "platform/stack_tree.h"
#include "server/web/web_server_call.h"

namespace muster::server {

using loop::Task;

/// {"job"}: {"headline", "text"}, the tree that `sm stacks` shows (docs/protocols/stacks.md).
Task<Result<Json, aws::Refusal>> WebServer::stacks(Call& call) {
  api::Request request{.service = "sagemaker",
                       .operation = "DescribeTrainingJob",
                       .input = {{"TrainingJobName", api::text_of(call.input, "job")}},
                       .access_key = call.visit.key};
  request.own = api::Own::stacks;
  const api::Answer answer = co_await ask(call.exchange, std::move(request));
  if (!answer) co_return answer.error();
  const Result<std::vector<job::HostStacks>> hosts = job::job_stacks_from_json(*answer);
  if (!hosts) co_return api::invalid(hosts.error().text);
  co_return Json{{"headline", platform::stack_headline(*hosts)},
                 {"text", platform::stack_text(*hosts)}};
}

}  // namespace muster::server
