// A share of a device's multiprocessors (SMs), so that a gather runs on a few of them while other kernels run on the rest.
//   all        no partition
//   grid       at most so many blocks of 1,024 threads; where they run is the device's choice, so others are not kept away
//   partition  SMs reserved by the driver (green contexts): streams whose kernels run on these SMs alone, and a stream for the rest
//   mps        as in the dissertation (3.4): the Multi-Process Service limits this process to a part of the device
//   automatic  partition, or grid where the driver has no partitions
// Invariant: a share reports what was granted: the driver rounds partitions up (to 8 on an H200) and MPS goes by percent. Streams of a
// partition end before it does. Cost: a partition is made in some milliseconds.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/executor.hpp"

namespace garner::lab {

enum class share_kind : std::uint8_t { automatic, all, grid, partition, mps };
struct sm_share {
  share_kind kind = share_kind::all;
  unsigned multiprocessors = 0;  // mps: 0 takes what the service gives
};
std::string_view to_string(share_kind);

// A share made real.
class device_share {
 public:
  // errc::device where it is not available (the message has a remedy), errc::usage for 0 multiprocessors.
  device_share(int device, sm_share const& wanted);
  ~device_share();
  device_share(device_share const&) = delete;
  device_share& operator=(device_share const&) = delete;

  int device() const { return device_; }
  share_kind kind() const { return kind_; }                      // never automatic
  unsigned multiprocessors() const { return multiprocessors_; }  // given
  unsigned rest() const { return rest_; }                        // for others: what is left, or all without a partition
  void* make_stream(bool of_rest) const;
  std::string about() const { return about_; }  // one line

 private:
  int device_;
  share_kind kind_;
  unsigned multiprocessors_ = 0, rest_ = 0;
  std::string about_;
  void *partition_ = nullptr, *others_ = nullptr;
};

// Runs on a share of the device, or on the part that it leaves to others; at other places there is nothing to share.
class shared_executor : public executor {
 public:
  shared_executor(execution_device where, sm_share const& share);
  struct beside {};
  shared_executor(shared_executor const& shared, beside);
  ~shared_executor();
  int multiprocessors() const { return multiprocessors_; }    // of the share
  device_share const* share() const { return share_.get(); }  // null: none

 private:
  void work_on_part(bool of_rest);
  std::shared_ptr<device_share const> share_;
  void* part_ = nullptr;  // a stream
  int multiprocessors_;
};

// Whether a Multi-Process Service runs here, and which part of a device it is to give this process.
struct mps_state {
  std::string folder;  // of its pipes
  bool runs = false;
  std::string percentage;  // CUDA_MPS_ACTIVE_THREAD_PERCENTAGE; empty: not set
};
mps_state mps_here();
void require_mps(mps_state const&);  // the message of errc::device has the start command and the settings

namespace on_gpu {
struct partition {
  void *share = nullptr, *others = nullptr;  // null others: nothing is left
  unsigned multiprocessors = 0, rest = 0;
};
// Why it failed; empty: made.
std::string make_partition(int device, unsigned multiprocessors, partition& made);
void free_partition(void* part) noexcept;
void* partition_stream(int device, void* part);
}  // namespace on_gpu

}  // namespace garner::lab
