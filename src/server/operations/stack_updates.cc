// CloudFormation's updates and change sets.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "base/text.h"
#include "server/cloudformation/changes.h"
#include "server/operations/stack_answers.h"
#include "server/operations/stack_input.h"
#include "server/operations/stack_operations.h"

namespace muster::server {
namespace {

using cloudformation::invalid;

constexpr std::size_t things_max = 500;       ///< VPCs, subnets, groups: of each, over all stacks.
constexpr std::int64_t change_sets_max = 20;  ///< A stack's: older ones are forgotten.
constexpr const char* in_review = "REVIEW_IN_PROGRESS";
/// AWS's own: the AWS CLI looks for it.
constexpr const char* no_changes =
    "The submitted information didn't contain changes. Submit different information to create a "
    "change set.";

/// One of `ids` that a job's request names; empty: none.
std::string named_of(const Json& request, const std::set<std::string>& ids) {
  const Json& config = api::inside(request, {"VpcConfig"});
  for (const char* list : {"Subnets", "SecurityGroupIds"})
    for (const std::string& id : api::texts_of(config, list))
      if (ids.contains(id)) return id;
  return {};
}

Json change_answer(const cloudformation::Change& change) {
  using Action = cloudformation::Change::Action;
  const bool modifies = change.action == Action::modify;
  Json told{{"Action", modifies                       ? "Modify"
                       : change.action == Action::add ? "Add"
                                                      : "Remove"},
            {"LogicalResourceId", change.name},
            {"ResourceType", change.type},
            {"Scope", Json::array()},
            {"Details", Json::array()}};
  if (!change.id.empty()) told["PhysicalResourceId"] = change.id;
  if (modifies) told["Replacement"] = change.replaced ? "True" : "False";
  if (change.properties) told["Scope"].push_back("Properties");
  if (change.tags) told["Scope"].push_back("Tags");
  return {{"Type", "Resource"}, {"ResourceChange", std::move(told)}};
}

/// The request of a stack that is changed by `input`.
Json request_after(Json request, const Json& input, const std::string& text) {
  for (const char* member : {"Capabilities", "NotificationARNs", "RoleARN", "Tags"})
    if (input.contains(member)) request[member] = input.at(member);
  request["TemplateBody"] = text;
  return request;
}

/// "Subnet (subnet-1)", or the id of what has no logical name: a VPC's own security group.
std::string shown(const cloudformation::Stack& stack, const std::string& id) {
  for (const cloudformation::StackResource& each : stack.resources)
    if (each.id == id) return each.name + " (" + id + ")";
  return id;
}

aws::Refusal no_stack(const std::string& name) {
  return invalid("Stack [" + name + "] does not exist");
}

aws::Refusal reviewed(const std::string& arn) {
  return invalid("Stack:" + arn + " is in REVIEW_IN_PROGRESS state and can not be updated.");
}

}  // namespace

Result<std::string, aws::Refusal> Stacks::use_of(const std::set<std::string>& ids,
                                                 const std::string& arn) {
  std::set<std::string> names;  // Few requests name a network: only those are read.
  for (const std::string& id : ids) {
    const Result<std::vector<store::UnfinishedJob>> jobs = store_.unfinished(id);
    if (!jobs) return api::internal_failure(jobs.error());
    for (const store::UnfinishedJob& job : *jobs) names.insert(job.name);
  }
  for (const std::string& name : names) {
    const Result<std::optional<store::Job>> job = store_.job(name);
    if (!job) return api::internal_failure(job.error());
    const Result<Json> asked = *job ? parse_json((*job)->request) : Json::object();
    const std::string id = asked ? named_of(*asked, ids) : std::string();
    if (!id.empty()) return "training job " + name + " is in its " + id;
  }
  for (const Kept& each : kept_)
    if (!each.row.deleted && each.row.arn != arn)
      for (const std::string& id : ids)
        if (each.row.networks.find('"' + id + '"') != std::string::npos)
          return "stack " + each.row.name + " is in its " + id;
  return std::string();
}

Result<std::string, aws::Refusal> Stacks::why_not(const Kept& before, const Json& networks) {
  const std::set<std::string> own = ids_in(before.row.networks);
  std::set<std::string> lost = own;
  for (const std::string& id : ids_in(to_text(networks))) lost.erase(id);
  for (const std::string& id : lost) {
    const std::string use = TRY(use_of({id}, before.row.arn));
    if (!use.empty())
      return "Resource " + shown(before.stack, id) + " cannot be replaced or deleted while " + use;
  }
  const Json all = joined(vpc::to_json(cloudformation::without(networks_, own)), networks);
  for (const char* list : {"Vpcs", "Subnets", "SecurityGroups"})
    if (api::elements(all, list).size() > things_max)
      return aws::Refusal{
          "LimitExceededException",
          "A server can have at most 500 VPCs, 500 subnets and 500 security groups"};
  const Result<vpc::Networks> fine = vpc::networks_from(all);
  return fine ? std::string() : fine.error().text;
}

Result<cloudformation::Stack, aws::Refusal> Stacks::whole(
    const Kept& kept, const cloudformation::StackOptions& options) const {
  const std::set<std::string> own = ids_in(kept.row.networks);
  cloudformation::Stack stack = kept.stack;
  stack.networks = cloudformation::only(networks_, own);
  const std::string start = "Stack [" + kept.row.name + "] cannot be updated: ";
  if (cloudformation::ids_of(stack.networks) != own)
    return invalid(start + "it is left out, because its networks conflict with the config");
  Result<cloudformation::Stack, aws::Refusal> whole = cloudformation::with_digests(
      std::move(stack), api::text_of(kept.request, "TemplateBody"), options);
  if (!whole)
    return invalid(start + "it was created by an older version of muster, and " +
                   whole.error().message);
  return whole;
}

Result<Stacks::Plan, aws::Refusal> Stacks::plan(const Json& input, const Kept& before) {
  const std::string text = TRY(template_in(input, before.request));
  const std::map<std::string, std::string> parameters =
      TRY(parameters_in(input, before.stack, before.request));
  const vpc::Networks known = cloudformation::without_dangling(
      cloudformation::without(networks_, ids_in(before.row.networks)));
  cloudformation::StackOptions options{.name = before.row.name,
                                       .id = before.row.arn,
                                       .region = options_.realm.region,
                                       .account = options_.realm.account,
                                       .known = known,
                                       .fresh_id = fresh_id};
  const cloudformation::Stack old = TRY(whole(before, options));
  options.before = &old;
  Plan plan;
  plan.stack = TRY(cloudformation::make_stack(text, parameters, options));
  plan.request = request_after(before.request, input, text);
  plan.changes = Json::array();
  for (const cloudformation::Change& each : cloudformation::changes_between(old, plan.stack))
    plan.changes.push_back(change_answer(each));
  const bool same = to_json(old) == to_json(plan.stack) &&
                    api::elements(before.request, "Tags") == api::elements(plan.request, "Tags");
  plan.failure = same ? no_changes : TRY(why_not(before, vpc::to_json(plan.stack.networks)));
  return plan;
}

Result<void, aws::Refusal> Stacks::put(const store::StackRow& row) {
  const Result<bool> updated = store_.update_stack(row);
  if (!updated) return api::internal_failure(updated.error());
  if (!*updated) return no_stack(row.name);
  const Result<std::vector<std::string>> read = start();
  if (!read) return api::internal_failure(read.error());
  return {};
}

api::Answer Stacks::update(const api::Request& request) {
  const std::string name = api::text_of(request.input, "StackName");
  const Kept* const found = living(name);
  if (found == nullptr) return no_stack(name);
  const Kept before = *found;
  const std::string token = token_of(request, "ClientRequestToken");
  if (!token.empty() && before.row.token == token) return Json{{"StackId", before.row.arn}};
  if (before.row.status == in_review) return reviewed(before.row.arn);
  const Plan made = TRY(plan(request.input, before));
  if (made.failure == no_changes) return invalid("No updates are to be performed.");
  if (!made.failure.empty()) return invalid(made.failure);
  store::StackRow row = before.row;
  row.token = token;
  row.updated = options_.now();
  row.status = "UPDATE_COMPLETE";
  row.request = to_text(made.request);
  row.made = to_text(to_json(made.stack));
  row.networks = to_text(vpc::to_json(made.stack.networks));
  TRY(put(row));
  return Json{{"StackId", row.arn}};
}

Result<store::ChangeSetRow, aws::Refusal> Stacks::change_set(const Json& input) {
  const std::string name = api::text_of(input, "ChangeSetName");
  const std::string stack = api::text_of(input, "StackName");
  if (stack.empty() && !name.starts_with("arn:"))
    return invalid("StackName must be specified if ChangeSetName is not specified as an ARN.");
  const Kept* const found = stack.empty() ? nullptr : living(stack);
  if (!stack.empty() && found == nullptr) return no_stack(stack);
  const Result<std::optional<store::ChangeSetRow>> row =
      store_.change_set(found != nullptr ? found->row.arn : "", name);
  if (!row) return api::internal_failure(row.error());
  if (!*row || (found != nullptr && (*row)->stack != found->row.arn))
    return aws::Refusal{"ChangeSetNotFound", "ChangeSet [" + name + "] does not exist", 404};
  return **row;
}

api::Answer Stacks::create_change_set(const api::Request& request) {
  const Json& input = request.input;
  const std::string name = api::text_of(input, "StackName");
  const std::string own = api::text_of(input, "ChangeSetName");
  const std::string type = api::text_of(input, "ChangeSetType");
  if (type == "IMPORT") return invalid("ChangeSetType: muster cannot import resources");
  const Kept* const found = living(name);
  const bool is_new = found == nullptr || found->row.status == in_review;
  if (type == "CREATE" && !is_new)
    return invalid("Stack [" + name +
                   "] already exists and cannot be created again with the changeSet [" + own +
                   "].");
  if (type != "CREATE" && found == nullptr) return no_stack(name);
  if (type != "CREATE" && is_new) return reviewed(found->row.arn);
  Kept before;
  if (found != nullptr) {
    before = *found;
  } else {
    TRY(check_stack_name(name));
    TRY(check_count());
    before.request = {{"StackName", name}};
    before.row = {.name = name,
                  .arn = fresh_arn(options_.realm, "stack", name),
                  .token = {},
                  .created = options_.now(),
                  .request = to_text(before.request),
                  .made = to_text(to_json(before.stack)),
                  .networks = to_text(vpc::to_json({})),
                  .status = in_review};
  }
  const std::string token = token_of(request, "ClientToken");
  const Result<std::optional<store::ChangeSetRow>> other = store_.change_set(before.row.arn, own);
  if (!other) return api::internal_failure(other.error());
  if (*other) {
    const Result<Json> document = parse_json((*other)->document);
    if (!token.empty() && document && api::text_of(*document, "Token") == token)
      return Json{{"Id", (*other)->arn}, {"StackId", before.row.arn}};
    // `aws cloudformation deploy` names change sets by the second: one that cannot be executed (any
    // more) makes room for the next.
    if (!document || api::text_of(*document, "ExecutionStatus") == "AVAILABLE")
      return aws::Refusal{"AlreadyExistsException", "ChangeSet [" + own + "] already exists"};
  }
  const Plan made = TRY(plan(input, before));
  const Result<void> removed = *other ? store_.remove_change_set((*other)->arn) : Result<void>();
  if (!removed) return api::internal_failure(removed.error());
  if (found == nullptr) {
    const Result<bool> added = store_.add_stack(before.row);
    if (!added) return api::internal_failure(added.error());
    const Result<std::vector<std::string>> read = start();
    if (!read) return api::internal_failure(read.error());
  }
  const bool fails = !made.failure.empty();
  const store::ChangeSetRow row{
      .arn = fresh_arn(options_.realm, "changeSet", own),
      .name = own,
      .stack = before.row.arn,
      .created = options_.now(),
      .document = to_text({{"Token", token},
                           {"Description", api::text_of(input, "Description")},
                           {"Status", fails ? "FAILED" : "CREATE_COMPLETE"},
                           {"StatusReason", made.failure},
                           {"ExecutionStatus", fails ? "UNAVAILABLE" : "AVAILABLE"},
                           {"Changes", made.changes},
                           {"Request", made.request},
                           {"Made", to_json(made.stack)},
                           {"Networks", vpc::to_json(made.stack.networks)}})};
  const Result<void> put = store_.put_change_set(row, change_sets_max);
  if (!put) return api::internal_failure(put.error());
  return Json{{"Id", row.arn}, {"StackId", before.row.arn}};
}

api::Answer Stacks::describe_change_set(const api::Request& request) {
  const store::ChangeSetRow row = TRY(change_set(request.input));
  const Kept of = TRY(named(row.stack));
  const Result<Json> document = parse_json(row.document);
  if (!document) return api::internal_failure(document.error());
  return change_set_answer(row, *document, of.row);
}

api::Answer Stacks::execute_change_set(const api::Request& request) {
  store::ChangeSetRow row = TRY(change_set(request.input));
  const Kept before = TRY(named(row.stack));
  Result<Json> read = parse_json(row.document);
  if (!read) return api::internal_failure(read.error());
  Json& document = *read;
  const std::string token = token_of(request, "ClientRequestToken");
  if (!token.empty() && api::text_of(document, "Executed") == token) return Json::object();
  if (const std::string status = api::text_of(document, "ExecutionStatus"); status != "AVAILABLE")
    return aws::Refusal{"InvalidChangeSetStatus",
                        "ChangeSet [" + row.arn +
                            "] cannot be executed in its current execution status of [" + status +
                            "]"};
  const std::string failure = TRY(why_not(before, document.at("Networks")));
  if (!failure.empty()) return aws::Refusal{"InvalidChangeSetStatus", failure};
  store::StackRow stack = before.row;
  stack.token = token;
  stack.updated = options_.now();
  stack.status = stack.status == in_review ? "CREATE_COMPLETE" : "UPDATE_COMPLETE";
  stack.request = to_text(document.at("Request"));
  stack.made = to_text(document.at("Made"));
  stack.networks = to_text(document.at("Networks"));
  TRY(put(stack));
  document["ExecutionStatus"] = "EXECUTE_COMPLETE";
  document["Executed"] = token;
  row.document = to_text(document);
  const Result<void> kept = store_.put_change_set(row, change_sets_max);
  if (!kept) return api::internal_failure(kept.error());
  return Json::object();
}

api::Answer Stacks::delete_change_set(const api::Request& request) {
  const Result<store::ChangeSetRow, aws::Refusal> row = change_set(request.input);
  if (!row && row.error().code == "ChangeSetNotFound") return Json::object();  // As AWS answers.
  if (!row) return row.error();
  const Result<void> removed = store_.remove_change_set(row->arn);
  if (!removed) return api::internal_failure(removed.error());
  return Json::object();
}

}  // namespace muster::server
