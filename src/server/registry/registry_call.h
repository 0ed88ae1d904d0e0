#pragma once

// Inside registry/ only: one call of the registry.

#include <functional>
#include <memory>
#include <string>

#include "server/registry/registry_server.h"
#include "server/registry/route.h"

namespace muster::registry {

/// Lives as long as the coroutine that answers the exchange.
struct RegistryCall {
  http::Exchange& exchange;
  const RegistryServer::Options& options;
  Uploads& uploads;
  std::shared_ptr<image::Store> store;
  std::shared_ptr<const access::AccessKey> key;
  Route route;

  std::string_view method() const { return exchange.request().method; }
};

/// The call was answered, or the caller must send this refusal.
using Answered = Result<void, aws::Refusal>;

/// A response head with the headers of every registry response.
http::Reply fresh_reply(int status);
loop::Task<Answered> send(RegistryCall& call, http::Reply reply);
/// The response to a failure of the disk or the store, without the path.
aws::Refusal storage_failure(const Error& error);
/// Runs work on the store on a separate thread, and keeps alive what it needs.
using StoreWork = std::function<Answered(image::Store& store)>;
loop::Task<Answered> with_store(RegistryCall& call, StoreWork work);
/// Changes the call's repository with `edit`, creating it if necessary. Blocks.
using Edit = std::function<Answered(image::Repository& repository)>;
Answered edit_repository(image::Store& store, const std::string& name, UnixMillis now,
                         const Edit& edit);
/// Refusal: NAME_UNKNOWN.
Result<image::Repository, aws::Refusal> existing_repository(RegistryCall& call);

// registry_lists.cc
loop::Task<Answered> list_repositories(RegistryCall& call);
loop::Task<Answered> list_tags(RegistryCall& call);
// registry_blobs.cc
loop::Task<Answered> give_blob(RegistryCall& call);
loop::Task<Answered> delete_blob(RegistryCall& call);
loop::Task<Answered> begin_upload(RegistryCall& call);
loop::Task<Answered> go_on_with_upload(RegistryCall& call);
// registry_manifests.cc
loop::Task<Answered> give_manifest(RegistryCall& call);
loop::Task<Answered> put_manifest(RegistryCall& call);
loop::Task<Answered> delete_manifest(RegistryCall& call);

}  // namespace muster::registry
