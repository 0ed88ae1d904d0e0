#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "container/bundle/bundle.h"
#include "container/bundle/machine_mounts.h"
#include "container/host_network/network.h"
#include "machine/housing/housing.h"
#include "net/sockets/datagram_relay.h"
#include "net/sockets/relay.h"

namespace muster::steward {

/// A container by runc, with its own network, root and control group.
class ContainerHousing : public Housing {
 public:
  explicit ContainerHousing(HousingContext context);

  Result<void> open() override;
  Result<void> build() override;
  const container::IdMap& ids() const override { return ids_; }
  Result<void> give_checkpoints() override;
  Result<void> furnish(const std::vector<std::string>& staged) override;
  loop::Task<Result<container::Process>> start(container::ContainerStdio stdio) override;
  bool out_of_memory() const override;
  std::vector<std::string> overruns(bool out_of_memory, bool lacked_files) const override;
  loop::Task<> end() override;
  Result<void> check_disk() const override;
  loop::Task<> close() override;

 private:
  Result<void> open_disk();
  Result<void> put_together(const std::vector<container::IdExtent>& ids);
  Result<void> keep_image();
  Result<void> become_user();
  Result<void> open_relay();
  Result<void> open_name_service();
  container::HostNeeds needs() const;
  container::Facts facts(const std::vector<std::string>& staged) const;
  void tell_lesser_shm(const container::HostLimits& limits);
  Result<void> show(const container::Facts& facts);
  Result<Fd> choose_cpus(std::string& cpus) const;
  Result<void> limit();
  static std::string step_cgroup();
  std::string own_cgroup() const;
  void watch_memory_places(const container::Process& init);
  Result<void> close_disk();

  HousingContext context_;
  const job::HostSpec& spec_;
  bool started_ = false;  ///< The runtime has this host's container.
  std::optional<container::Runtime> runtime_;
  container::Machine machine_;
  container::HostLimits limits_;
  Fd volume_;       ///< The disk's root folder, if its size is limited.
  Fd cpus_chosen_;  ///< A lock: other hosts choose processors after this host's group shows its
                    ///< own.
  container::HostNamespaces namespaces_;
  container::IdMap ids_;  ///< The map of namespaces_.
  Fd image_lease_;        ///< While it is open, no layer of the image is removed.
  job::User user_;        ///< The USER of the image.
  std::optional<container::HostNetwork> network_;
  std::unique_ptr<loop::Relay> relay_;  ///< From inside the host to this machine's own S3.
  std::unique_ptr<loop::DatagramRelay> datagrams_;  ///< To the machine's name servers.
  std::unique_ptr<loop::Relay> long_answers_;       ///< To the first name server, by TCP.
};

}  // namespace muster::steward
