#include "server/operations/stack_answers.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "aws/api/inputs.h"
#include "base/text.h"
#include "server/cloudformation/parameters.h"

namespace muster::server {
namespace {

std::string status_of(const store::StackRow& row) {
  return row.deleted ? "DELETE_COMPLETE" : row.status;
}

Json not_checked(const char* member) {
  return {{member, "NOT_CHECKED"}};
}

void put(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) json[name] = text;
}

/// An event of the stack itself, where `resource` is null, or of one that it has.
Json event(const store::StackRow& row, const cloudformation::StackResource* resource,
           const std::string& status) {
  UnixMillis time = row.created;
  if (status.starts_with("DELETE")) time = *row.deleted;
  if (status.starts_with("UPDATE")) time = *row.updated;
  const std::string name = resource != nullptr ? resource->name : row.name;
  Json json{{"StackId", row.arn},
            {"StackName", row.name},
            {"EventId", name + "-" + status},
            {"LogicalResourceId", name},
            {"PhysicalResourceId", resource != nullptr ? resource->id : row.arn},
            {"ResourceType", resource != nullptr ? resource->type : "AWS::CloudFormation::Stack"},
            {"ResourceStatus", status},
            {"Timestamp", api::seconds(time)}};
  if (resource == nullptr && status.ends_with("IN_PROGRESS"))
    json["ResourceStatusReason"] = "User Initiated";
  return json;
}

}  // namespace

Json stack_answer(const store::StackRow& row, const cloudformation::Stack& stack,
                  const Json& request) {
  Json json{{"StackId", row.arn},
            {"StackName", row.name},
            {"CreationTime", api::seconds(row.created)},
            {"StackStatus", status_of(row)},
            {"DisableRollback", false},
            {"RollbackConfiguration", Json::object()},
            {"EnableTerminationProtection", false},
            {"DriftInformation", not_checked("StackDriftStatus")},
            {"NotificationARNs", api::elements(request, "NotificationARNs")},
            {"Capabilities", api::elements(request, "Capabilities")},
            {"Tags", api::elements(request, "Tags")},
            {"Parameters", Json::array()},
            {"Outputs", Json::array()}};
  put(json, "Description", stack.description);
  if (row.updated) json["LastUpdatedTime"] = api::seconds(*row.updated);
  put(json, "RoleARN", api::text_of(request, "RoleARN"));
  if (const auto minutes = api::integer_of(request, "TimeoutInMinutes"))
    json["TimeoutInMinutes"] = *minutes;
  if (row.deleted) json["DeletionTime"] = api::seconds(*row.deleted);
  for (const auto& [key, value] : stack.parameters)
    json["Parameters"].push_back({{"ParameterKey", key}, {"ParameterValue", value}});
  for (const cloudformation::StackOutput& each : stack.outputs) {
    Json output{{"OutputKey", each.key}, {"OutputValue", each.value}};
    put(output, "Description", each.description);
    put(output, "ExportName", each.export_name);
    json["Outputs"].push_back(std::move(output));
  }
  return json;
}

Json summary_answer(const store::StackRow& row, const cloudformation::Stack& stack) {
  Json json{{"StackId", row.arn},
            {"StackName", row.name},
            {"CreationTime", api::seconds(row.created)},
            {"StackStatus", status_of(row)},
            {"DriftInformation", not_checked("StackDriftStatus")}};
  put(json, "TemplateDescription", stack.description);
  if (row.updated) json["LastUpdatedTime"] = api::seconds(*row.updated);
  if (row.deleted) json["DeletionTime"] = api::seconds(*row.deleted);
  return json;
}

Json resource_answers(const store::StackRow& row, const cloudformation::Stack& stack,
                      const std::string& logical) {
  Json list = Json::array();
  for (const cloudformation::StackResource& each : stack.resources) {
    if (!logical.empty() && each.name != logical) continue;
    list.push_back(
        {{"StackName", row.name},
         {"StackId", row.arn},
         {"LogicalResourceId", each.name},
         {"PhysicalResourceId", each.id},
         {"ResourceType", each.type},
         {"Timestamp", api::seconds(row.deleted.value_or(row.updated.value_or(row.created)))},
         {"ResourceStatus", status_of(row)},
         {"DriftInformation", not_checked("StackResourceDriftStatus")}});
  }
  return list;
}

Json event_answers(const store::StackRow& row, const cloudformation::Stack& stack) {
  Json oldest_first = Json::array();
  const bool is_made = row.status != "REVIEW_IN_PROGRESS";
  oldest_first.push_back(event(row, nullptr, is_made ? "CREATE_IN_PROGRESS" : row.status));
  for (const cloudformation::StackResource& each : stack.resources)
    for (const char* status : {"CREATE_IN_PROGRESS", "CREATE_COMPLETE"})
      oldest_first.push_back(event(row, &each, status));
  if (is_made) oldest_first.push_back(event(row, nullptr, "CREATE_COMPLETE"));
  if (row.status == "UPDATE_COMPLETE")
    for (const char* status : {"UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"})
      oldest_first.push_back(event(row, nullptr, status));
  if (row.deleted)
    for (const char* status : {"DELETE_IN_PROGRESS", "DELETE_COMPLETE"})
      oldest_first.push_back(event(row, nullptr, status));
  std::reverse(oldest_first.begin(), oldest_first.end());
  return oldest_first;
}

Json change_set_answer(const store::ChangeSetRow& row, const Json& document,
                       const store::StackRow& stack) {
  const Json& request = api::inside(document, {"Request"});
  Json json{{"ChangeSetName", row.name},
            {"ChangeSetId", row.arn},
            {"StackId", row.stack},
            {"StackName", stack.name},
            {"CreationTime", api::seconds(row.created)},
            {"Status", document.at("Status")},
            {"ExecutionStatus", document.at("ExecutionStatus")},
            {"Changes", document.at("Changes")},
            {"NotificationARNs", api::elements(request, "NotificationARNs")},
            {"Capabilities", api::elements(request, "Capabilities")},
            {"Tags", api::elements(request, "Tags")},
            {"RollbackConfiguration", Json::object()},
            {"IncludeNestedStacks", false},
            {"Parameters", Json::array()}};
  put(json, "Description", api::text_of(document, "Description"));
  put(json, "StatusReason", api::text_of(document, "StatusReason"));
  for (const Json& each : document.at("Made").at("Parameters"))
    json["Parameters"].push_back({{"ParameterKey", each.at(0)}, {"ParameterValue", each.at(1)}});
  return json;
}

Json parameter_declarations(const cloudformation::Template& made, bool with_types) {
  const auto as_text = [](const Json& value) {
    return value.is_string() ? value.get<std::string>() : to_text(value);
  };
  Json list = Json::array();
  for (const auto& [name, entry] : made.parameters.items()) {
    Json declared{{"ParameterKey", name}, {"NoEcho", cloudformation::is_secret(made, name)}};
    if (entry.contains("Default")) declared["DefaultValue"] = as_text(entry.at("Default"));
    if (entry.contains("Description")) declared["Description"] = as_text(entry.at("Description"));
    if (with_types) {
      declared["ParameterType"] = entry.contains("Type") ? as_text(entry.at("Type")) : "";
      Json allowed = Json::array();
      for (const Json& each : api::elements(entry, "AllowedValues"))
        allowed.push_back(as_text(each));
      declared["ParameterConstraints"] = {{"AllowedValues", std::move(allowed)}};
    }
    list.push_back(std::move(declared));
  }
  return list;
}

Json template_summary(const cloudformation::Template& made) {
  std::set<std::string> types;
  for (const auto& [name, resource] : made.resources) types.insert(resource.type);
  Json json{{"Parameters", parameter_declarations(made, true)},
            {"ResourceTypes", types},
            {"Capabilities", Json::array()},
            {"DeclaredTransforms", Json::array()},
            {"Version", "2010-09-09"}};
  put(json, "Description", made.description);
  return json;
}

Json without_secrets(Json input) {
  input.erase("Parameters");
  return input;
}

void add_tags(const store::StackRow& row, const cloudformation::Stack& stack, const Json& request,
              std::map<std::string, store::Tags>& tags) {
  for (const cloudformation::StackResource& each : stack.resources) {
    store::Tags& own = tags[each.id];
    own = each.tags;
    const auto has = [&own](const std::string& key) {
      return std::any_of(own.begin(), own.end(), [&](const auto& tag) { return tag.first == key; });
    };
    for (const Json& tag : api::elements(request, "Tags"))
      if (!has(api::text_of(tag, "Key")))
        own.emplace_back(api::text_of(tag, "Key"), api::text_of(tag, "Value"));
    own.emplace_back("aws:cloudformation:logical-id", each.name);
    own.emplace_back("aws:cloudformation:stack-id", row.arn);
    own.emplace_back("aws:cloudformation:stack-name", row.name);
  }
}

}  // namespace muster::server
