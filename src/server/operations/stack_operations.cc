#include "server/operations/stack_operations.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "aws/api/inputs.h"
#include "base/text.h"
#include "server/cloudformation/template.h"
#include "server/operations/stack_answers.h"
#include "server/operations/stack_input.h"

namespace muster::server {
namespace {

constexpr std::ptrdiff_t living_max = 200;

using cloudformation::invalid;

struct OwnNetworks {
  std::size_t kept = 0;  ///< The stack's place among those that are kept.
  std::string stack;
  Json networks;
};

/// The config's networks and the stacks', of which those go that do not fit the others, with a line
/// each. Together they fit as long as the config is what it was: one look at all of them, for with
/// each stack by itself the looks would grow with the square of their number.
vpc::Networks fitting(Json all, std::vector<OwnNetworks>& stacks, std::vector<std::string>& notes) {
  Json together = all;
  for (const OwnNetworks& each : stacks) together = joined(std::move(together), each.networks);
  if (Result<vpc::Networks> networks = vpc::networks_from(together)) return *std::move(networks);
  std::vector<OwnNetworks> kept;
  for (bool again = true; again;) {  // An updated stack may stand in a younger one's networks.
    again = false;
    notes.clear();
    std::vector<OwnNetworks> rest;
    for (OwnNetworks& each : stacks) {
      Json with = joined(all, each.networks);
      const Result<vpc::Networks> fine = vpc::networks_from(with);
      if (!fine) notes.push_back("stack " + each.stack + " is left out: " + fine.error().text);
      if (fine) all = std::move(with);
      again = again || fine;
      (fine ? kept : rest).push_back(std::move(each));
    }
    stacks = std::move(rest);
  }
  stacks = std::move(kept);
  return *vpc::networks_from(all);
}

}  // namespace

Result<std::vector<std::string>> Stacks::start() {
  const std::vector<store::StackRow> rows = TRY(store_.stacks());
  kept_.clear();
  tags_.clear();
  std::vector<OwnNetworks> living;
  for (const store::StackRow& row : rows) {
    const Json made = TRY(parse_json(row.made));
    Json request = TRY(parse_json(row.request));
    cloudformation::Stack stack = TRY(cloudformation::stack_from(made));
    kept_.push_back({row, std::move(stack), std::move(request)});
    if (row.deleted) continue;
    Json networks = TRY(parse_json(row.networks));
    living.push_back({kept_.size() - 1, row.name, std::move(networks)});
  }
  std::vector<std::string> notes;
  networks_ = fitting(vpc::to_json(options_.networks), living, notes);
  for (const OwnNetworks& each : living) {
    const Kept& kept = kept_[each.kept];
    add_tags(kept.row, kept.stack, kept.request, tags_);
  }
  return notes;
}

api::Answer Stacks::operate(const api::Request& request) {
  static const std::map<std::string, Handler> handlers = {
      {"CreateStack", &Stacks::create},
      {"DeleteStack", &Stacks::remove},
      {"DescribeStacks", &Stacks::describe},
      {"DescribeStackResources", &Stacks::describe_resources},
      {"DescribeStackEvents", &Stacks::describe_events},
      {"GetTemplate", &Stacks::get_template},
      {"ListStacks", &Stacks::list},
      {"UpdateStack", &Stacks::update},
      {"CreateChangeSet", &Stacks::create_change_set},
      {"DescribeChangeSet", &Stacks::describe_change_set},
      {"ExecuteChangeSet", &Stacks::execute_change_set},
      {"DeleteChangeSet", &Stacks::delete_change_set},
      {"ListStackResources", &Stacks::list_resources},
      {"GetTemplateSummary", &Stacks::summarize_template},
      {"ValidateTemplate", &Stacks::validate_template},
  };
  const auto handler = handlers.find(request.operation);
  if (handler == handlers.end())
    return aws::Refusal{"InvalidAction",
                        "muster does not support cloudformation:" + request.operation};
  if (!api::text_of(request.input, "NextToken").empty())
    return invalid("The NextToken does not belong to this request.");
  return (this->*handler->second)(request);
}

Result<void, aws::Refusal> Stacks::check_count() const {
  const auto lives = [](const Kept& each) { return !each.row.deleted; };
  if (std::count_if(kept_.begin(), kept_.end(), lives) < living_max) return {};
  return aws::Refusal{"LimitExceededException", "Limit for stack has been exceeded: 200"};
}

const Stacks::Kept* Stacks::living(const std::string& name) const {
  for (const Kept& each : kept_)
    if (!each.row.deleted && (each.row.name == name || each.row.arn == name)) return &each;
  return nullptr;
}

api::Answer Stacks::create(const api::Request& request) {
  const std::string name = api::text_of(request.input, "StackName");
  TRY(check_stack_name(name));
  if (api::flag_of(request.input, "EnableTerminationProtection"))
    return invalid("EnableTerminationProtection is not supported");
  const std::string token = token_of(request, "ClientRequestToken");
  if (const Kept* const other = living(name)) {
    if (!token.empty() && other->row.token == token) return Json{{"StackId", other->row.arn}};
    return aws::Refusal{"AlreadyExistsException", "Stack [" + name + "] already exists"};
  }
  TRY(check_count());
  Kept none{.row = {.name = name,
                    .arn = fresh_arn(options_.realm, "stack", name),
                    .token = token,
                    .created = options_.now()},
            .stack = {},
            .request = without_secrets(request.input)};
  const Plan made = TRY(plan(request.input, none));
  if (!made.failure.empty()) return invalid(made.failure);
  none.row.request = to_text(made.request);
  none.row.made = to_text(to_json(made.stack));
  none.row.networks = to_text(vpc::to_json(made.stack.networks));
  const Result<bool> added = store_.add_stack(none.row);
  if (!added) return api::internal_failure(added.error());
  const Result<std::vector<std::string>> read = start();
  if (!read) return api::internal_failure(read.error());
  return Json{{"StackId", none.row.arn}};
}

Result<Stacks::Kept, aws::Refusal> Stacks::named(const std::string& name) {
  for (auto each = kept_.rbegin(); each != kept_.rend(); ++each)
    if (each->row.arn == name || (!each->row.deleted && each->row.name == name)) return *each;
  return invalid("Stack with id " + name + " does not exist");
}

api::Answer Stacks::remove(const api::Request& request) {
  const Result<Kept, aws::Refusal> found = named(api::text_of(request.input, "StackName"));
  if (!found || found->row.deleted) return Json::object();  // As CloudFormation answers.
  if (!api::elements(request.input, "RetainResources").empty())
    return invalid("RetainResources is not supported: a stack is deleted completely");
  const std::string use = TRY(use_of(ids_in(found->row.networks), found->row.arn));
  if (!use.empty())
    return invalid("Stack [" + found->row.name + "] cannot be deleted while " + use);
  const Result<bool> removed = store_.delete_stack(found->row.arn, options_.now());
  if (!removed) return api::internal_failure(removed.error());
  const Result<std::vector<std::string>> read = start();
  if (!read) return api::internal_failure(read.error());
  return Json::object();
}

api::Answer Stacks::describe(const api::Request& request) {
  Json list = Json::array();
  if (const std::string name = api::text_of(request.input, "StackName"); !name.empty()) {
    const Kept kept = TRY(named(name));
    list.push_back(stack_answer(kept.row, kept.stack, kept.request));
  } else {
    for (auto each = kept_.rbegin(); each != kept_.rend(); ++each)
      if (!each->row.deleted) list.push_back(stack_answer(each->row, each->stack, each->request));
  }
  return Json{{"Stacks", std::move(list)}};
}

api::Answer Stacks::describe_resources(const api::Request& request) {
  const std::string name = api::text_of(request.input, "StackName");
  const std::string logical = api::text_of(request.input, "LogicalResourceId");
  const std::string physical = api::text_of(request.input, "PhysicalResourceId");
  if (name.empty() == physical.empty())
    return invalid("Either StackName or PhysicalResourceId must be specified, not both");
  if (physical.empty()) {
    const Kept kept = TRY(named(name));
    return Json{{"StackResources", resource_answers(kept.row, kept.stack, logical)}};
  }
  for (const Kept& each : kept_)
    for (const cloudformation::StackResource& resource : each.stack.resources)
      if (!each.row.deleted && resource.id == physical)
        return Json{{"StackResources", resource_answers(each.row, each.stack, logical)}};
  return invalid("Stack for " + physical + " does not exist");
}

api::Answer Stacks::describe_events(const api::Request& request) {
  const Kept kept = TRY(named(api::text_of(request.input, "StackName")));
  return Json{{"StackEvents", event_answers(kept.row, kept.stack)}};
}

api::Answer Stacks::get_template(const api::Request& request) {
  const std::string name = api::text_of(request.input, "StackName");
  if (name.empty()) return invalid("StackName must be specified");
  const Kept kept = TRY(named(name));
  return Json{{"TemplateBody", api::text_of(kept.request, "TemplateBody")},
              {"StagesAvailable", {"Original", "Processed"}}};
}

api::Answer Stacks::list(const api::Request& request) {
  const std::vector<std::string> wanted = api::texts_of(request.input, "StackStatusFilter");
  Json summaries = Json::array();
  for (auto each = kept_.rbegin(); each != kept_.rend(); ++each) {
    Json summary = summary_answer(each->row, each->stack);
    const bool fits =
        wanted.empty() || std::find(wanted.begin(), wanted.end(),
                                    summary["StackStatus"].get<std::string>()) != wanted.end();
    if (fits) summaries.push_back(std::move(summary));
  }
  return Json{{"StackSummaries", std::move(summaries)}};
}

api::Answer Stacks::list_resources(const api::Request& request) {
  const Kept kept = TRY(named(api::text_of(request.input, "StackName")));
  Json summaries = resource_answers(kept.row, kept.stack, "");
  for (Json& each : summaries) {
    each["LastUpdatedTimestamp"] = each.at("Timestamp");
    for (const char* member : {"StackName", "StackId", "Timestamp"}) each.erase(member);
  }
  return Json{{"StackResourceSummaries", std::move(summaries)}};
}

/// A text's, or a stack's.
api::Answer Stacks::summarize_template(const api::Request& request) {
  if (request.input.contains("StackSetName")) return invalid("StackSetName is not supported");
  std::string text;
  if (const std::string name = api::text_of(request.input, "StackName"); !name.empty()) {
    if (request.input.contains("TemplateBody") || request.input.contains("TemplateURL"))
      return invalid("Only one of StackName, TemplateBody and TemplateURL can be specified");
    const Kept kept = TRY(named(name));
    text = api::text_of(kept.request, "TemplateBody");
  } else {
    text = TRY(template_in(request.input, {}));
  }
  const cloudformation::Template read = TRY(cloudformation::read_template(text));
  return template_summary(read);
}

api::Answer Stacks::validate_template(const api::Request& request) {
  const std::string text = TRY(template_in(request.input, {}));
  const cloudformation::Template read = TRY(cloudformation::read_template(text));
  Json answer{{"Parameters", parameter_declarations(read, false)},
              {"Description", read.description},
              {"Capabilities", Json::array()},
              {"DeclaredTransforms", Json::array()}};
  if (read.description.empty()) answer.erase("Description");
  return answer;
}

}  // namespace muster::server
