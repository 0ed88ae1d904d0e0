#include "server/operations/job_search.h"

#include <doctest/doctest.h>

#include "server/operations/operations_testing.h"
#include "server/operations/search.h"

namespace muster::server {
namespace {

TEST_CASE("search: finds jobs by what they are") {
  World world;
  for (const char* name : {"one", "two", "three"}) {
    world.now += at(1000);
    world.ask("CreateTrainingJob", job_input(name));
  }
  const auto found = [&](const char* expression, const std::string& order = "Ascending") {
    const Json answer = world.ask("Search", {{"Resource", "TrainingJob"},
                                             {"SearchExpression", Json::parse(expression)},
                                             {"SortBy", "CreationTime"},
                                             {"SortOrder", order}});
    std::string all;
    for (const Json& each : answer.at("Results"))
      all += each.at("TrainingJob").at("TrainingJobName").get<std::string>() + " ";
    return all;
  };
  CHECK(found("{}") == "one two three ");
  CHECK(found(R"({"Filters": [{"Name": "TrainingJobName", "Operator": "Contains",
                               "Value": "t"}]})",
              "Descending") == "three two ");
  CHECK(found(R"({"Filters": [{"Name": "Tags.team", "Operator": "Equals", "Value": "x"},
                              {"Name": "TrainingJobName", "Value": "one"}]})") == "one ");
  CHECK(found(R"({"Operator": "Or", "Filters": [{"Name": "TrainingJobName", "Value": "one"}],
                  "SubExpressions": [{"Filters": [{"Name": "CreationTime",
                    "Operator": "GreaterThan", "Value": "1002.5"}]}]})") == "one three ");
  const Json page = world.ask("Search", {{"Resource", "TrainingJob"}, {"MaxResults", 2}});
  CHECK(page.at("Results").size() == 2);
  const Json rest = world.ask(
      "Search",
      {{"Resource", "TrainingJob"}, {"MaxResults", 2}, {"NextToken", page.at("NextToken")}});
  CHECK(rest.at("Results").size() == 1);
  CHECK(!rest.contains("NextToken"));
  CHECK(world.ask("Search", {{"Resource", "Endpoint"}}).at("Results").empty());
}

TEST_CASE("search: looks at a bounded number of jobs, and finds all in pages") {
  World world;
  constexpr int count = 1300;
  for (int number = 0; number < count; ++number) {
    world.now += at(1000);
    Json input = job_input("j" + std::to_string(number));
    if (number % 1000 == 3) input["Tags"][0]["Value"] = "rare";
    world.ask("CreateTrainingJob", input);
  }
  Json input{{"Resource", "TrainingJob"},
             {"SearchExpression",
              {{"Filters", {{{"Name", "Tags.team"}, {"Operator", "Equals"}, {"Value", "rare"}}}}}}};
  for (const char* sort_by : {"LastModifiedTime", "CreationTime", "TrainingJobName"}) {
    CAPTURE(sort_by);
    input["SortBy"] = sort_by;
    input.erase("NextToken");
    std::string names;
    Json answer;
    for (int pages = 0; pages < 9; ++pages) {
      const std::uint64_t before = world.store.effort();
      answer = world.ask("Search", input);
      CHECK(world.store.effort() - before < 300'000);
      CHECK(world.step_effort_max < 20'000);
      for (const Json& each : answer.at("Results"))
        names += each.at("TrainingJob").at("TrainingJobName").get<std::string>() + " ";
      if (!answer.contains("NextToken")) break;
      CHECK(answer.at("TotalHits").at("Relation") == "GreaterThanOrEqualTo");
      input["NextToken"] = answer.at("NextToken");
    }
    CHECK(names == (std::string(sort_by) == "TrainingJobName" ? "j3 j1003 " : "j1003 j3 "));
    CHECK(answer.at("TotalHits") == Json{{"Value", 2}, {"Relation", "EqualTo"}});
  }
  input.erase("NextToken");
  input["SortBy"] = "ResourceConfig.InstanceCount";
  CHECK(world.code("Search", input) == "ValidationException");
}

TEST_CASE("search: operators") {
  const Json record = Json::parse(R"({"Name": "abc", "Count": 5, "When": 86400.0,
    "Deep": {"List": [{"X": "1"}, {"X": "2"}]}, "Hyper": {"a.b": "3"},
    "Tags": [{"Key": "k.1", "Value": "v"}]})");
  struct {
    const char* name;
    const char* verb;
    const char* value;
    bool want;
  } const cases[] = {
      {"Name", "Equals", "abc", true},
      {"Name", "NotEquals", "abc", false},
      {"Name", "Contains", "bc", true},
      {"Name", "In", "x, abc", true},
      {"Name", "In", "ab", false},
      {"Count", "Equals", "5", true},
      {"Count", "GreaterThan", "4.5", true},
      {"Count", "LessThanOrEqualTo", "5", true},
      {"Count", "LessThan", "5", false},
      {"Count", "GreaterThanOrEqualTo", "x", false},
      {"When", "Equals", "1970-01-02T00:00:00Z", true},
      {"Deep.List.X", "Equals", "2", true},
      {"Deep.List.X", "NotEquals", "2", false},
      {"Hyper.a.b", "Equals", "3", true},
      {"Tags.k.1", "Equals", "v", true},
      {"Tags.none", "NotExists", "", true},
      {"Name", "Exists", "", true},
      {"None", "NotEquals", "x", true},
      {"None", "Equals", "x", false},
      {"Name", "Roughly", "abc", false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CAPTURE(c.verb);
    const Json filter{{"Name", c.name}, {"Operator", c.verb}, {"Value", c.value}};
    CHECK(matches(record, {{"Filters", Json::array({filter})}}) == c.want);
  }
}

}  // namespace
}  // namespace muster::server
