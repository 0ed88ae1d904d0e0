#include <doctest/doctest.h>

#include "server/store/store.h"
#include "server/store/testing.h"

namespace muster::store {
namespace {

const StackRow net{"net", "arn:1", "t", at(1000), {}, "{}", "{\"a\":1}", "{}"};

TEST_CASE("store: a stack keeps its name until it is deleted, and is listed for 90 days more") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  CHECK(*store.add_stack(net));
  CHECK(!*store.add_stack(net));
  CHECK(store.stacks()->at(0).made == "{\"a\":1}");
  CHECK(!*store.delete_stack("arn:2", at(2000)));
  CHECK(*store.delete_stack("arn:1", at(2000)));
  CHECK(!*store.delete_stack("arn:1", at(3000)));
  CHECK(store.stacks()->at(0).deleted == at(2000));
  CHECK(store.stacks()->at(0).networks.empty());
  StackRow next = net;
  next.arn = "arn:2";
  CHECK(*store.add_stack(next));
  CHECK(store.stacks()->size() == 2);
  CHECK(*store.delete_stack("arn:2", at(2001) + std::chrono::days(90)));
  CHECK(store.stacks()->size() == 1);
}

TEST_CASE("store: an updated stack is another one of the same age, and its change sets are gone") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(*store.add_stack(net));
  REQUIRE(store.put_change_set({"cs:1", "one", "arn:1", at(1), "{}"}, 9));
  StackRow next = net;
  next.made = "{}";
  next.status = "UPDATE_COMPLETE";
  next.updated = at(2000);
  CHECK(*store.update_stack(next));
  const StackRow row = store.stacks()->at(0);
  CHECK(row.made == "{}");
  CHECK(row.status == "UPDATE_COMPLETE");
  CHECK(row.updated == at(2000));
  CHECK(row.created == at(1000));
  CHECK(!*store.change_set("arn:1", "one"));
  REQUIRE(*store.delete_stack("arn:1", at(3000)));
  CHECK(!*store.update_stack(next));
}

TEST_CASE("store: the last change sets of a stack are kept, by name and by ARN") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(*store.add_stack(net));
  for (const char* name : {"one", "two", "three"})
    REQUIRE(store.put_change_set({std::string("cs:") + name, name, "arn:1", at(1), "{}"}, 2));
  REQUIRE(store.put_change_set({"cs:other", "two", "arn:2", at(1), "{}"}, 2));
  CHECK(!*store.change_set("arn:1", "one"));
  CHECK((*store.change_set("arn:1", "two"))->arn == "cs:two");
  CHECK((*store.change_set("arn:2", "two"))->arn == "cs:other");
  REQUIRE(store.put_change_set({"cs:two", "two", "arn:1", at(1), "{\"a\":1}"}, 2));
  CHECK((*store.change_set("", "cs:two"))->document == "{\"a\":1}");
  CHECK((*store.change_set("", "cs:three"))->name == "three");
  REQUIRE(store.remove_change_set("cs:two"));
  CHECK(!*store.change_set("arn:1", "two"));
  REQUIRE(*store.delete_stack("arn:1", at(3000)));
  CHECK(!*store.change_set("arn:1", "three"));
}

}  // namespace
}  // namespace muster::store
