#include "server/runs/run_reader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "server/store/sqlite.h"
#include "server/store/testing.h"

namespace muster::runs {
namespace {

using store::at;
using store::Folder;
using store::Store;
using store::Tags;

using Texts = std::map<std::string, std::string>;

void submit(Store& store, const std::string& name, const Texts& parameters, const Tags& tags = {},
            UnixMillis now = at(1000)) {
  store::NewJob job = store::job_named(name, now);
  job.request = to_text(Json{{"RoleArn", "r"}, {"HyperParameters", parameters}});
  job.tags = tags;
  REQUIRE(*store.submit(job) == store::Submitted::made);
}

/// Runs from `start` to `end`; without an end, on and on.
void run(Store& store, const std::string& name, UnixMillis start, std::optional<UnixMillis> end,
         store::Status status = store::Status::completed) {
  REQUIRE(store.set_status(name, {.secondary = "Training", .message = "m", .time = start}));
  if (!end) return;
  REQUIRE(store.finish(name, {.change = {.status = status,
                                         .secondary = std::string(store::status_name(status)),
                                         .message = "m",
                                         .time = *end}}));
}

void measure(Store& store, const std::string& job, const std::string& metric,
             const std::vector<double>& values) {
  std::vector<store::MetricSample> samples;
  for (const double each : values)
    samples.push_back({metric, at(5000 + static_cast<std::int64_t>(samples.size())), each});
  REQUIRE(store.put_metrics(job, "algo-1", samples, 1));
}

Query query_of(const Json& json) {
  Result<Query> query = query_in(json);
  REQUIRE(query);
  return *std::move(query);
}

RunPage page_of(const Folder& folder, const Query& query, UnixMillis now = at(100'000)) {
  RunReader reader = *RunReader::open(folder.file());
  Result<RunPage> page = reader.page(query, now);
  REQUIRE(page);
  return *std::move(page);
}

std::string names_in(const RunPage& page) {
  std::string names;
  for (const Run& each : page.runs) names += (names.empty() ? "" : " ") + each.name;
  return names;
}

std::string names_of(const Folder& folder, const Json& json) {
  return names_in(page_of(folder, query_of(json)));
}

std::string shown(const Cell& cell) {
  if (const auto* const number = std::get_if<double>(&cell)) return to_text(*number);
  const auto* const value = std::get_if<store::RunValue>(&cell);
  return value == nullptr ? "-" : value->text;
}

TEST_CASE("runs: numbers sort as numbers, then texts, missing values last, in both directions") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  submit(store, "ten", {{"lr", "10"}});
  submit(store, "none", {});
  submit(store, "nine", {{"lr", "9"}});
  submit(store, "auto", {{"lr", "auto"}});
  submit(store, "tiny", {{"lr", "1e-5"}});
  submit(store, "best", {{"lr", "\"best\""}});
  submit(store, "ten-too", {{"lr", "10.0"}});
  submit(store, "nothing", {{"other", "1"}});
  CHECK(names_of(folder, {{"sort", "hp:lr"}}) == "tiny nine ten ten-too auto best none nothing");
  CHECK(names_of(folder, {{"sort", "hp:lr"}, {"descending", true}}) ==
        "ten-too ten nine tiny best auto nothing none");
  CHECK(names_of(folder, {{"sort", "hp:unknown"}, {"limit", 2}}) == "ten none");
}

TEST_CASE("runs: a row has its columns' values") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  submit(store, "one", {{"lr", "1e-4"}, {"n", "032"}, {"name", "\"a\\\"b\""}}, {{"team", "x"}},
         at(1500));
  run(store, "one", at(2000), at(9500));
  measure(store, "one", "loss", {3, 1, 2});
  submit(store, "two", {{"loss", "l2"}}, {}, at(1600));
  run(store, "two", at(40'000), std::nullopt);
  submit(store, "three", {{"sagemaker_submit_directory", "s3://a"}, {"", "empty"}}, {}, at(1700));
  const RunPage page = page_of(
      folder,
      query_of({{"columns",
                 {"hp:lr", "hp:n", "hp:name", "tag:team", "last:loss", "least:loss", "most:loss",
                  "hp:loss", "hp:lr", "hp:sagemaker_submit_directory", "tag:none"}}}));
  REQUIRE(page.runs.size() == 3);
  const auto row = [&](std::size_t place) {
    std::string text;
    for (const Cell& each : page.runs[place].values) text += shown(each) + " ";
    return text;
  };
  CHECK(row(0) == "1e-4 032 a\"b x 2.0 1.0 3.0 - 1e-4 - - ");
  CHECK(row(1) == "- - - - - - - l2 - - - ");
  CHECK(row(2) == "- - - - - - - - - - - ");
  CHECK(page.runs[0].status == "Completed");
  CHECK(page.runs[0].created == at(1500));
  CHECK(page.runs[0].duration == std::chrono::milliseconds(7500));
  CHECK(page.runs[1].status == "InProgress");
  CHECK(page.runs[1].secondary == "Training");
  CHECK(page.runs[1].duration == std::chrono::milliseconds(60'000));
  CHECK_FALSE(page.runs[2].duration);
  CHECK(page.matching == 3);
  CHECK(page.total == 3);
  CHECK_FALSE(page.next);
}

/// A table of a few jobs whose durations, values and tags differ.
void submit_some(Store& store) {
  submit(store, "a-1", {{"opt", "adam"}, {"lr", "0.1"}}, {{"team", "x"}}, at(1001));
  submit(store, "a-2", {{"opt", "sgd"}, {"lr", "0.01"}}, {{"team", "y"}}, at(1002));
  submit(store, "b-1", {{"opt", "\"adam\""}, {"lr", "auto"}}, {}, at(1003));
  submit(store, "b-2", {{"opt", "adamw"}}, {{"team", "x"}}, at(1004));
  run(store, "a-1", at(2000), at(5000));
  run(store, "a-2", at(2000), at(3000), store::Status::failed);
  run(store, "b-1", at(2000), std::nullopt);
  measure(store, "a-1", "loss", {5, 0.25});
  measure(store, "a-2", "loss", {0.75, 0.5, 0.75});
}

TEST_CASE("runs: filters") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  submit_some(store);
  struct {
    const char* column;
    const char* is;
    Json value;
    const char* want;
  } const cases[] = {
      {"status", "=", "Completed", "a-1"},
      {"status", "!=", "Completed", "a-2 b-1 b-2"},
      {"status", "=", "completed", ""},
      {"name", "contains", "-1", "a-1 b-1"},
      {"name", "contains", "%", ""},
      {"name", "=", "b-2", "b-2"},
      {"name", "!=", "b-2", "a-1 a-2 b-1"},
      {"created", ">=", 1.002, "a-2 b-1 b-2"},
      {"created", "<", 1.002, "a-1"},
      {"duration", "<=", 3, "a-1 a-2"},
      {"duration", ">", 3, "b-1"},
      {"duration", "missing", nullptr, "b-2"},
      {"duration", "exists", nullptr, "a-1 a-2 b-1"},
      {"hp:opt", "=", "adam", "a-1 b-1"},
      {"hp:opt", "!=", "adam", "a-2 b-2"},
      {"hp:opt", "contains", "adam", "a-1 b-1 b-2"},
      {"hp:opt", ">=", "adamw", "a-2 b-2"},
      {"hp:opt", "<", "adamw", "a-1 b-1"},
      {"hp:opt", "<", 5, ""},
      {"hp:lr", "<", 0.1, "a-2"},
      {"hp:lr", ">", 0.01, "a-1"},
      {"hp:lr", ">=", "0.010", "a-1 a-2"},
      {"hp:lr", "<=", "zzz", "b-1"},
      {"hp:lr", "=", 0.1, "a-1"},
      {"hp:lr", "!=", 0.1, "a-2 b-1"},
      {"hp:lr", "contains", "0.", "a-1 a-2"},
      {"hp:lr", "missing", nullptr, "b-2"},
      {"hp:lr", "exists", nullptr, "a-1 a-2 b-1"},
      {"hp:none", "missing", nullptr, "a-1 a-2 b-1 b-2"},
      {"hp:none", "=", "x", ""},
      {"hp:team", "=", "x", ""},
      {"tag:team", "=", "x", "a-1 b-2"},
      {"tag:team", "missing", nullptr, "b-1"},
      {"last:loss", "<", 0.5, "a-1"},
      {"least:loss", "=", 0.5, "a-2"},
      {"most:loss", ">=", "0.75", "a-1 a-2"},
      {"last:loss", "missing", nullptr, "b-1 b-2"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.column);
    CAPTURE(c.is);
    CAPTURE(to_text(c.value));
    const Query query =
        query_of({{"filters", {{{"column", c.column}, {"is", c.is}, {"value", c.value}}}}});
    const RunPage page = page_of(folder, query);
    CHECK(names_in(page) == c.want);
    CHECK(page.matching == static_cast<std::int64_t>(page.runs.size()));
    CHECK(page.total == 4);
  }
}

TEST_CASE("runs: filters apply together, and pages follow each other") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  submit_some(store);
  const Json adam = {{"column", "hp:opt"}, {"is", "contains"}, {"value", "adam"}};
  CHECK(names_of(folder, {{"filters", {adam, {{"column", "tag:team"}, {"is", "exists"}}}}}) ==
        "a-1 b-2");
  CHECK(names_of(folder, {{"filters", {{{"column", "hp:lr"}, {"is", "missing"}}, adam}}}) == "b-2");
  for (const char* sort : {"name", "status", "created", "duration", "hp:lr", "hp:opt", "tag:team",
                           "last:loss", "least:loss", "most:loss"})
    for (const bool descending : {false, true}) {
      CAPTURE(sort);
      CAPTURE(descending);
      Query query = query_of({{"sort", sort}, {"descending", descending}});
      const std::string whole = names_in(page_of(folder, query));
      query.limit = 1;
      std::string each;
      for (UnixMillis now = at(100'000);; now += std::chrono::seconds(5)) {
        const RunPage page = page_of(folder, query, now);
        each += (each.empty() ? "" : " ") + names_in(page);
        if (!page.next) break;
        query.after = place_of(token_of(*page.next));
        REQUIRE(query.after);
      }
      CHECK(each == whole);
    }
}

// A model of the table, which sorts and filters all jobs one by one.

struct Model {
  std::string name;
  std::int64_t number = 0;
  std::map<std::string, store::RunKey> values;  ///< By column.
};

const std::vector<std::string> model_texts = {"1",   "2.5", "-3", "1e1", "a",     "b",
                                              "abc", "10",  "",   "02",  "\"a\"", "9e99"};

std::vector<Model> submit_model(Store& store, std::mt19937& random) {
  std::vector<Model> models;
  for (std::int64_t number = 1; number <= 60; ++number) {
    Model model{"job-" + std::to_string(number * 7 % 61), number, {}};
    Texts parameters;
    Tags tags;
    for (const char* name : {"p", "q"})
      if (random() % 4 != 0) parameters[name] = model_texts[random() % model_texts.size()];
    if (random() % 2 == 0) tags.emplace_back("t", model_texts[random() % model_texts.size()]);
    submit(store, model.name, parameters, tags, at(1000 + static_cast<int>(random() % 20)));
    if (random() % 3 != 0) {
      const double last = static_cast<double>(random() % 5), other = last + 0.5;
      measure(store, model.name, "m", {other, last});
      model.values["last:m"] = store::run_key(last);
      model.values["most:m"] = store::run_key(other);
    }
    for (const auto& [name, text] : parameters)
      model.values["hp:" + name] = store::run_value(text).key;
    for (const auto& [name, text] : tags) model.values["tag:" + name] = store::run_value(text).key;
    model.values["name"] = model.name;
    models.push_back(std::move(model));
  }
  return models;
}

double number_of(const store::RunKey& key) {
  const auto* const whole = std::get_if<std::int64_t>(&key);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(key);
}

bool is_text(const store::RunKey& key) {
  return std::holds_alternative<std::string>(key);
}

/// Less than 0: `a` comes before `b`, which is of the same kind.
int compared(const store::RunKey& a, const store::RunKey& b) {
  if (is_text(a)) return std::get<std::string>(a).compare(std::get<std::string>(b));
  return number_of(a) < number_of(b) ? -1 : number_of(a) > number_of(b) ? 1 : 0;
}

bool passes(const Model& model, const Filter& filter) {
  const auto found = model.values.find(column_text(filter.column));
  if (found == model.values.end()) return filter.test == Test::missing;
  if (filter.test == Test::missing) return false;
  if (filter.test == Test::exists) return true;
  const bool is_same_kind = is_text(found->second) == is_text(filter.value);
  if (!is_same_kind) return filter.test == Test::unequal;
  const int order = compared(found->second, filter.value);
  switch (filter.test) {
    case Test::equal:
      return order == 0;
    case Test::unequal:
      return order != 0;
    case Test::less:
      return order < 0;
    case Test::at_most:
      return order <= 0;
    case Test::more:
      return order > 0;
    default:
      return order >= 0;
  }
}

std::vector<std::string> sorted_names(std::vector<Model> models, const Query& query) {
  std::erase_if(models, [&](const Model& each) {
    return !std::all_of(query.filters.begin(), query.filters.end(),
                        [&](const Filter& filter) { return passes(each, filter); });
  });
  const std::string column = column_text(query.sort);
  const auto part_of = [&](const Model& model) {
    const auto found = model.values.find(column);
    return found == model.values.end() ? 2 : is_text(found->second) ? 1 : 0;
  };
  std::sort(models.begin(), models.end(), [&](const Model& a, const Model& b) {
    if (part_of(a) != part_of(b)) return part_of(a) < part_of(b);
    const int order = part_of(a) == 2 ? 0 : compared(a.values.at(column), b.values.at(column));
    const std::int64_t both = order != 0 ? order : a.number - b.number;
    return query.descending ? both > 0 : both < 0;
  });
  std::vector<std::string> names;
  for (const Model& each : models) names.push_back(each.name);
  return names;
}

TEST_CASE("runs: any sort with any filters, page by page, is what sorting all jobs gives") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  std::mt19937 random(7);
  const std::vector<Model> models = submit_model(store, random);
  const std::vector<std::string> columns = {"name",  "hp:p",   "hp:q",  "hp:none",
                                            "tag:t", "last:m", "most:m"};
  const std::vector<std::string> tests = {"=", "!=", "<", "<=", ">", ">=", "exists", "missing"};
  for (int i = 0; i < 400; ++i) {
    Json json{{"sort", columns[random() % columns.size()]},
              {"descending", random() % 2 == 0},
              {"limit", 1 + random() % 30}};
    for (std::uint64_t count = random() % 3; count > 0; --count) {
      const std::string& column = columns[1 + random() % (columns.size() - 1)];
      const std::string& test = tests[random() % tests.size()];
      const bool is_metric = column.ends_with(":m");
      Json filter{{"column", column}, {"is", test}};
      if (test != "exists" && test != "missing")
        filter["value"] = is_metric ? Json(static_cast<double>(random() % 10) / 2)
                                    : Json(model_texts[random() % model_texts.size()]);
      json["filters"].push_back(std::move(filter));
    }
    CAPTURE(to_text(json));
    Query query = query_of(json);
    std::vector<std::string> found;
    for (bool more = true; more;) {
      const RunPage page = page_of(folder, query);
      for (const Run& each : page.runs) found.push_back(each.name);
      query.after = page.next;
      more = page.next.has_value();
    }
    CHECK(found == sorted_names(models, query));
  }
}

TEST_CASE("runs: known names, the most frequent first, and no longer than they are used") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  submit_some(store);
  RunReader reader = *RunReader::open(folder.file());
  using Names = std::vector<std::pair<std::string, std::int64_t>>;
  CHECK(reader.names(Field::hyperparameter, "")->names == Names{{"opt", 4}, {"lr", 3}});
  CHECK(reader.names(Field::hyperparameter, "l")->names == Names{{"lr", 3}});
  CHECK(reader.names(Field::tag, "")->names == Names{{"team", 3}});
  CHECK(reader.names(Field::last, "")->names == Names{{"loss", 2}});
  REQUIRE(store.add_tags("arn:b-1", {{"team", "z"}, {"new", "1"}}, 50));
  REQUIRE(store.remove_tags("arn:a-1", {"team"}));
  REQUIRE(store.add_tags("arn:of:a:repository", {{"team", "z"}}, 50));
  REQUIRE(*store.remove("a-2"));
  RunReader later = *RunReader::open(folder.file());
  CHECK(later.names(Field::hyperparameter, "")->names == Names{{"opt", 3}, {"lr", 2}});
  CHECK(later.names(Field::tag, "")->names == Names{{"team", 2}, {"new", 1}});
  CHECK(later.names(Field::last, "")->names == Names{{"loss", 1}});
  for (const char* name : {"a-1", "b-1", "b-2"}) REQUIRE(*store.remove(name));
  RunReader last = *RunReader::open(folder.file());
  for (const Field field : {Field::hyperparameter, Field::tag, Field::last})
    CHECK(last.names(field, "")->names.empty());
}

TEST_CASE("runs: of very many names, 500 are listed") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  for (int job = 0; job < 6; ++job) {
    Texts parameters;
    for (int i = 0; i < 100; ++i) parameters["p" + std::to_string(job * 100 + i)] = "1";
    submit(store, "job-" + std::to_string(job), parameters);
  }
  RunReader reader = *RunReader::open(folder.file());
  const RunNames all = *reader.names(Field::hyperparameter, "");
  CHECK(all.names.size() == 500);
  CHECK(all.more);
  const RunNames some = *reader.names(Field::hyperparameter, "p50");
  CHECK(some.names.size() == 11);
  CHECK_FALSE(some.more);
}

TEST_CASE("runs: jobs side by side") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  submit_some(store);
  RunReader reader = *RunReader::open(folder.file());
  const Comparison compared = *reader.compare({"a-1", "gone", "b-1", "a-1"}, at(100'000));
  REQUIRE(compared.runs.size() == 2);
  CHECK(compared.runs[0].name == "a-1");
  CHECK(compared.runs[1].name == "b-1");
  CHECK(compared.unknown == std::vector<std::string>{"gone"});
  CHECK(compared.left_out == 0);
  std::string rows;
  for (const ComparedRow& each : compared.rows) {
    rows += column_text(each.column) + (each.differs ? " differs:" : ":");
    for (const Cell& cell : each.values) rows += " " + shown(cell);
    rows += "\n";
  }
  CHECK(rows ==
        "hp:lr differs: 0.1 auto\n"
        "hp:opt: adam adam\n"
        "last:loss differs: 0.25 -\n"
        "least:loss differs: 0.25 -\n"
        "most:loss differs: 5.0 -\n"
        "tag:team differs: x -\n");
  CHECK(reader.compare({}, at(0))->rows.empty());
}

TEST_CASE("runs: a reader whose client has gone stops") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  submit(store, "one", {{"p", "1"}});
  const std::unique_ptr<store::Database> database = *store::Database::open(folder.file());
  REQUIRE(database->run(
      "PRAGMA foreign_keys=OFF; WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n "
      "WHERE i < 60000) INSERT INTO run_values SELECT i, 1, 1, NULL FROM n"));
  RunReader reader = *RunReader::open(folder.file(), [] { return true; });
  const Result<RunPage> page = reader.page(query_of({{"sort", "hp:p"}}), at(0));
  REQUIRE_FALSE(page);
  CHECK(page.error().code == Errc::system);
}

}  // namespace
}  // namespace muster::runs
