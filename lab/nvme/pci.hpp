// An NVMe drive that this program drives alone: its registers, and memory that it reaches, through PCI in Linux's /sys. That takes root, a
// drive without a system driver (its data is inaccessible meanwhile), and no IOMMU before it: the drive uses physical addresses, and could
// write anywhere. For tests, and for dedicated machines.
// Invariant: the drive's access to memory (bus master) is disabled before its registers are unmapped.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lab/nvme/controller.hpp"

namespace garner::lab {

// "0000:00:04.0" and so on, found by the class code of NVMe. `root`: the folder of PCI in /sys.
std::vector<std::string> nvme_addresses(std::string const& root = "/sys/bus/pci/devices");

class pci_registers {
 public:
  // errc::usage: no such device, or none of NVMe, or a driver or an IOMMU is in the way; errc::io: the system refuses.
  explicit pci_registers(std::string const& address, std::string const& root = "/sys/bus/pci/devices");
  ~pci_registers();
  pci_registers(pci_registers const&) = delete;
  pci_registers& operator=(pci_registers const&) = delete;
  nvme_registers registers() const { return {static_cast<std::uint32_t*>(base_), bytes_}; }

 private:
  void master(bool on) const;
  std::string folder_;
  void* base_ = nullptr;
  std::size_t bytes_ = 0;
};

// Huge pages of 2 MiB, which stay where they are, by their physical addresses.
class physical_memory final : public bus_memory {
 public:
  ~physical_memory() override;
  std::byte* allocate(std::size_t bytes, char const* what) override;
  void release(std::byte* at) noexcept override;
  std::uint64_t address(void const* at) const override;
  std::size_t contiguous() const override { return huge; }

 private:
  static constexpr std::size_t huge = std::size_t{2} << 20;
  mutable std::mutex mutex_;
  std::map<std::byte const*, std::vector<std::uint64_t>> blocks_;  // of each page where it lies
};

}  // namespace garner::lab
