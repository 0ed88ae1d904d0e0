#include "server/stacks.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/inputs.h"
#include "base/fd.h"
#include "base/text.h"
#include "server/stack_answers.h"
#include "stacks/template.h"

namespace muster::server {
namespace {

constexpr std::size_t living_max = 200;
constexpr std::size_t things_max = 500;  ///< VPCs, subnets, groups: of each, over all stacks.
constexpr std::size_t name_bytes_max = 128;
constexpr std::size_t id_digits = 17;

using stacks::invalid;

/// "vpc-0a1b…": 17 digits, as EC2's are.
std::string fresh_id(std::string_view prefix) {
  return std::string(prefix) + "-" + hex(random_bytes(id_digits)).substr(0, id_digits);
}

std::string fresh_arn(const api::Realm& realm, const std::string& name) {
  std::string id = hex(random_bytes(16));
  for (const std::size_t at : {8u, 13u, 18u, 23u}) id.insert(at, "-");
  return "arn:aws:cloudformation:" + realm.region + ":" + realm.account + ":stack/" + name + "/" +
         id;
}

bool is_stack_name(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && name.size() <= name_bytes_max && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

Result<void, aws::Refusal> check_input(const Json& input) {
  const std::string name = api::text_of(input, "StackName");
  if (!is_stack_name(name))
    return invalid("1 validation error detected: Value '" + name +
                   "' at 'stackName' failed to satisfy constraint: Member must satisfy regular "
                   "expression pattern: [a-zA-Z][-a-zA-Z0-9]* and have at most 128 characters");
  if (!api::text_of(input, "TemplateURL").empty())
    return invalid(
        "TemplateURL: muster reads templates that come with the call alone: give the "
        "text as TemplateBody");
  if (api::text_of(input, "TemplateBody").empty())
    return invalid("Either Template URL or Template Body must be specified.");
  if (api::flag_of(input, "EnableTerminationProtection"))
    return invalid("EnableTerminationProtection: muster has none");
  return {};
}

Result<std::map<std::string, std::string>, aws::Refusal> parameters_in(const Json& input) {
  std::map<std::string, std::string> parameters;
  for (const Json& each : api::elements(input, "Parameters")) {
    const std::string key = api::text_of(each, "ParameterKey");
    if (key.empty()) return invalid("A parameter has no ParameterKey.");
    if (api::flag_of(each, "UsePreviousValue"))
      return invalid("Invalid input for parameter key " + key +
                     ". Cannot specify usePreviousValue as true for a parameter key not in the "
                     "previous template");
    if (!parameters.emplace(key, api::text_of(each, "ParameterValue")).second)
      return invalid("Duplicate input parameter key " + key);
  }
  return parameters;
}

/// Both, with what `more` has behind.
Json joined(Json networks, const Json& more) {
  for (const char* list : {"Vpcs", "Subnets", "SecurityGroups"})
    for (const Json& each : api::elements(more, list)) networks[list].push_back(each);
  return networks;
}

struct OwnNetworks {
  std::size_t kept = 0;  ///< The stack's place among those that are kept.
  std::string stack;
  Json networks;
};

/// The config's networks and the stacks', of which those go that do not fit what comes before them,
/// with a line each. Together they fit as long as the config is what it was: one look at all of
/// them, for with each stack by itself the looks would grow with the square of their number.
vpc::Networks fitting(Json all, std::vector<OwnNetworks>& stacks, std::vector<std::string>& notes) {
  Json together = all;
  for (const OwnNetworks& each : stacks) together = joined(std::move(together), each.networks);
  if (Result<vpc::Networks> networks = vpc::networks_from(together)) return *std::move(networks);
  std::vector<OwnNetworks> kept;
  for (OwnNetworks& each : stacks) {
    Json with = joined(all, each.networks);
    if (const Result<vpc::Networks> fine = vpc::networks_from(with); !fine) {
      notes.push_back("stack " + each.stack + " is left out: " + fine.error().text);
      continue;
    }
    all = std::move(with);
    kept.push_back(std::move(each));
  }
  stacks = std::move(kept);
  return *vpc::networks_from(all);
}

bool names_any(const Json& request, const std::set<std::string>& ids, std::string& which) {
  const Json& config = api::inside(request, {"VpcConfig"});
  for (const char* list : {"Subnets", "SecurityGroupIds"})
    for (const std::string& id : api::texts_of(config, list))
      if (ids.contains(id)) {
        which = id;
        return true;
      }
  return false;
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
    stacks::Stack stack = TRY(stacks::stack_from(made));
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
  };
  const auto handler = handlers.find(request.operation);
  if (handler == handlers.end())
    return aws::Refusal{"InvalidAction",
                        "muster does not serve cloudformation:" + request.operation};
  if (!api::text_of(request.input, "NextToken").empty())
    return invalid("The NextToken is not one of this request's.");
  return (this->*handler->second)(request);
}

api::Answer Stacks::create(const api::Request& request) {
  TRY(check_input(request.input));
  const std::map<std::string, std::string> parameters = TRY(parameters_in(request.input));
  const std::string name = api::text_of(request.input, "StackName");
  const std::string given = api::text_of(request.input, "ClientRequestToken");
  const std::string token = given.empty() ? request.invocation : given;
  std::size_t living = 0;
  for (const Kept& each : kept_) {
    if (each.row.deleted) continue;
    ++living;
    if (each.row.name != name) continue;
    if (!token.empty() && each.row.token == token) return Json{{"StackId", each.row.arn}};
    return aws::Refusal{"AlreadyExistsException", "Stack [" + name + "] already exists"};
  }
  if (living >= living_max)
    return aws::Refusal{"LimitExceededException", "Limit for stack has been exceeded: 200"};
  const std::string arn = fresh_arn(options_.realm, name);
  const stacks::Stack stack =
      TRY(stacks::make_stack(api::text_of(request.input, "TemplateBody"), parameters,
                             {.name = name,
                              .id = arn,
                              .region = options_.realm.region,
                              .account = options_.realm.account,
                              .known = networks_,
                              .fresh_id = fresh_id}));
  for (const std::size_t count : {networks_.vpcs.size() + stack.networks.vpcs.size(),
                                  networks_.subnets.size() + stack.networks.subnets.size(),
                                  networks_.groups.size() + stack.networks.groups.size()})
    if (count > things_max)
      return aws::Refusal{"LimitExceededException",
                          "There can be 500 VPCs, 500 subnets and 500 security groups in all"};
  const Result<bool> added = store_.add_stack({.name = name,
                                               .arn = arn,
                                               .token = token,
                                               .created = options_.now(),
                                               .deleted = {},
                                               .request = to_text(without_secrets(request.input)),
                                               .made = to_text(to_json(stack)),
                                               .networks = to_text(vpc::to_json(stack.networks))});
  if (!added) return api::internal_failure(added.error());
  const Result<std::vector<std::string>> read = start();
  if (!read) return api::internal_failure(read.error());
  return Json{{"StackId", arn}};
}

Result<Stacks::Kept, aws::Refusal> Stacks::named(const std::string& name) {
  for (auto each = kept_.rbegin(); each != kept_.rend(); ++each)
    if (each->row.arn == name || (!each->row.deleted && each->row.name == name)) return *each;
  return invalid("Stack with id " + name + " does not exist");
}

Result<void, aws::Refusal> Stacks::check_unused(const Kept& kept) {
  std::set<std::string> ids;
  std::set<std::string> names;  // Few requests name a network: only those are read.
  for (const stacks::StackResource& each : kept.stack.resources) {
    if (!ids.insert(each.id).second || each.id.empty()) continue;
    const Result<std::vector<store::UnfinishedJob>> jobs = store_.unfinished(each.id);
    if (!jobs) return api::internal_failure(jobs.error());
    for (const store::UnfinishedJob& job : *jobs) names.insert(job.name);
  }
  for (const std::string& name : names) {
    const Result<std::optional<store::Job>> job = store_.job(name);
    if (!job) return api::internal_failure(job.error());
    const Result<Json> asked = *job ? parse_json((*job)->request) : Json::object();
    std::string which;
    if (asked && names_any(*asked, ids, which))
      return invalid("Stack [" + kept.row.name + "] cannot be deleted while training job " + name +
                     " is in its " + which);
  }
  Json rest = vpc::to_json(options_.networks);
  for (const Kept& each : kept_)
    if (!each.row.deleted && each.row.arn != kept.row.arn)
      if (const Result<Json> networks = parse_json(each.row.networks))
        rest = joined(std::move(rest), *networks);
  const Result<vpc::Networks> fine = vpc::networks_from(rest);
  if (fine) return {};
  return invalid("Stack [" + kept.row.name +
                 "] cannot be deleted while another is in its networks: " + fine.error().text);
}

api::Answer Stacks::remove(const api::Request& request) {
  const Result<Kept, aws::Refusal> found = named(api::text_of(request.input, "StackName"));
  if (!found || found->row.deleted) return Json::object();  // As CloudFormation answers.
  if (!api::elements(request.input, "RetainResources").empty())
    return invalid("RetainResources: a stack here is deleted whole");
  TRY(check_unused(*found));
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
    for (const stacks::StackResource& resource : each.stack.resources)
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

}  // namespace muster::server
