#include "server/operations/ec2.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "aws/api/inputs.h"
#include "base/address_block.h"
#include "base/text.h"

namespace muster::server {
namespace {

constexpr std::int64_t page_default = 1000;
/// EC2 keeps the first four addresses of a subnet and the last for itself.
constexpr std::int64_t addresses_reserved = 5;
constexpr std::string_view tag_prefix = "tag:";

/// A kind of things that is described.
struct Kind {
  std::string_view operation;
  const char* list;       ///< In networks as JSON, and in the answer.
  const char* ids;        ///< The input's list of ids.
  const char* id;         ///< The member that is the id.
  const char* not_found;  ///< The code of what is not there.
  const char* called;     ///< "The subnet ID".
  std::map<std::string, const char*, std::less<>> filters;  ///< Members by a filter's name.
};

const Kind* kind_of(std::string_view operation) {
  static const Kind kinds[] = {
      {"DescribeVpcs",
       "Vpcs",
       "VpcIds",
       "VpcId",
       "InvalidVpcID.NotFound",
       "The vpc ID",
       {{"vpc-id", "VpcId"},
        {"cidr", "CidrBlock"},
        {"state", "State"},
        {"is-default", "IsDefault"},
        {"isDefault", "IsDefault"},
        {"owner-id", "OwnerId"}}},
      {"DescribeSubnets",
       "Subnets",
       "SubnetIds",
       "SubnetId",
       "InvalidSubnetID.NotFound",
       "The subnet ID",
       {{"subnet-id", "SubnetId"},
        {"vpc-id", "VpcId"},
        {"cidr-block", "CidrBlock"},
        {"cidrBlock", "CidrBlock"},
        {"cidr", "CidrBlock"},
        {"availability-zone", "AvailabilityZone"},
        {"availabilityZone", "AvailabilityZone"},
        {"state", "State"},
        {"owner-id", "OwnerId"}}},
      {"DescribeSecurityGroups",
       "SecurityGroups",
       "GroupIds",
       "GroupId",
       "InvalidGroup.NotFound",
       "The security group",
       {{"group-id", "GroupId"},
        {"group-name", "GroupName"},
        {"description", "Description"},
        {"vpc-id", "VpcId"},
        {"owner-id", "OwnerId"}}},
  };
  for (const Kind& kind : kinds)
    if (kind.operation == operation) return &kind;
  return nullptr;
}

/// Members of EC2's responses that networks don't have.
void complete(Json& thing, const Kind& kind, const api::Realm& realm) {
  const std::string prefix = "arn:aws:ec2:" + realm.region + ":" + realm.account + ":";
  thing["OwnerId"] = realm.account;
  if (kind.operation == "DescribeSecurityGroups") {
    thing["SecurityGroupArn"] = prefix + "security-group/" + thing["GroupId"].get<std::string>();
    return;
  }
  thing["State"] = "available";
  if (kind.operation == "DescribeVpcs") {
    thing["IsDefault"] = false;
    thing["InstanceTenancy"] = "default";
    return;
  }
  thing["SubnetArn"] = prefix + "subnet/" + thing["SubnetId"].get<std::string>();
  thing["DefaultForAz"] = false;
  thing["MapPublicIpOnLaunch"] = false;
  if (const Result<AddressBlock> block = block_from(thing["CidrBlock"].get<std::string>()))
    thing["AvailableIpAddressCount"] =
        (std::int64_t{1} << (32 - block->prefix_length)) - addresses_reserved;
}

/// The texts of `thing` that a filter is about; none if EC2's filter is not known here.
std::optional<std::vector<std::string>> texts_for(const std::string& filter, const Kind& kind,
                                                  const Json& thing) {
  std::vector<std::string> texts;
  const std::string_view name(filter);
  const bool is_of_tag = name.starts_with(tag_prefix);
  if (is_of_tag || name == "tag-key") {
    for (const Json& tag : api::elements(thing, "Tags")) {
      if (!is_of_tag) texts.push_back(tag["Key"].get<std::string>());
      if (is_of_tag && tag["Key"] == name.substr(tag_prefix.size()))
        texts.push_back(tag["Value"].get<std::string>());
    }
    return texts;
  }
  const auto member = kind.filters.find(name);
  if (member == kind.filters.end()) return std::nullopt;
  const auto value = thing.find(member->second);
  if (value != thing.end())
    texts.push_back(value->is_string() ? value->get<std::string>() : to_text(*value));
  return texts;
}

Result<bool, aws::Refusal> passes(const Json& filters, const Kind& kind, const Json& thing) {
  bool does = true;
  for (const Json& filter : filters) {
    const std::string name = api::text_of(filter, "Name");
    const auto texts = texts_for(name, kind, thing);
    if (!texts)
      return aws::Refusal{"InvalidParameterValue", "The filter '" + name + "' is invalid"};
    const std::vector<std::string> patterns = api::texts_of(filter, "Values");
    does = does && std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
             return std::any_of(texts->begin(), texts->end(), [&](const std::string& text) {
               return matches(pattern, text, '?');
             });
           });
  }
  return does;
}

/// Each of `wanted` is the `member` of one of `things`; then those alone stay.
Result<void, aws::Refusal> keep(Json& things, const char* member,
                                const std::vector<std::string>& wanted, const Kind& kind) {
  if (wanted.empty()) return {};
  Json kept = Json::array();
  for (const std::string& each : wanted) {
    const auto is_it = [&](const Json& thing) { return thing[member] == each; };
    if (std::none_of(things.begin(), things.end(), is_it))
      return aws::Refusal{kind.not_found,
                          std::string(kind.called) + " '" + each + "' does not exist"};
  }
  for (const Json& thing : things)
    if (std::find(wanted.begin(), wanted.end(), thing[member].get<std::string>()) != wanted.end())
      kept.push_back(thing);
  things = std::move(kept);
  return {};
}

api::Answer page_of(const Json& input, const Kind& kind, const Json& things) {
  std::int64_t start = 0;
  if (const std::string token = api::text_of(input, "NextToken"); !token.empty()) {
    const std::optional<Json> place = api::place_of(token);
    start = place ? api::integer_of(*place, kind.list).value_or(-1) : -1;
    if (start < 0)
      return aws::Refusal{"InvalidNextToken", "The NextToken does not belong to this request."};
  }
  const auto count = static_cast<std::int64_t>(things.size());
  const std::int64_t end =
      std::min(count, start + api::integer_of(input, "MaxResults").value_or(page_default));
  Json answer{{kind.list, Json::array()}};
  for (std::int64_t at = start; at < end; ++at)
    answer[kind.list].push_back(things[static_cast<std::size_t>(at)]);
  if (end < count) answer["NextToken"] = api::page_token({{kind.list, end}});
  return answer;
}

}  // namespace

api::Answer describe_networks(const api::Request& request, const api::Realm& realm,
                              const vpc::Networks& networks,
                              const std::map<std::string, store::Tags>& tags) {
  const Kind* kind = kind_of(request.operation);
  if (kind == nullptr)
    return aws::Refusal{"InvalidAction", "muster does not support ec2:" + request.operation};
  Json all = vpc::to_json(networks);
  Json& things = all[kind->list];
  for (Json& thing : things) {
    complete(thing, *kind, realm);
    const auto own = tags.find(thing[kind->id].get<std::string>());
    if (own == tags.end()) continue;
    for (const auto& [key, value] : own->second)
      thing["Tags"].push_back({{"Key", key}, {"Value", value}});
  }
  TRY(keep(things, kind->id, api::texts_of(request.input, kind->ids), *kind));
  TRY(keep(things, "GroupName", api::texts_of(request.input, "GroupNames"), *kind));
  Json kept = Json::array();
  const Json& filters = api::elements(request.input, "Filters");
  TRY(passes(filters, *kind, Json::object()));  // A name is wrong also where nothing is there.
  for (const Json& thing : things) {
    const bool does = TRY(passes(filters, *kind, thing));
    if (does) kept.push_back(thing);
  }
  return page_of(request.input, *kind, kept);
}

}  // namespace muster::server
