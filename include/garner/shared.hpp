// A host table shared by several processes, each of which pins and maps it for its own device (section 3.3 of Min's dissertation: the
// processes of a multi-GPU training share the feature table). It is POSIX shared memory of mode 0600, removed with the last process that
// holds it, even if other processes were killed.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "garner/features.hpp"

namespace garner {

struct shared_options {
  bool replace_stale = false;   // create: first remove a segment of that name that no process holds any more
  double timeout_seconds = 60;  // attach: timeout for the creator to fill it
};

class shared_table {
 public:
  // A new zero-initialized table, charged to this process's host budget. `name`: letters, digits, '-', '_', '.'; names are per user.
  // errc::usage for an invalid name or a name in use; errc::io names a stale segment, its size and age, and what to try;
  // errc::memory if shared memory is short. Fill data(), then call publish().
  static shared_table create(std::string const& name, std::uint64_t rows, std::uint64_t width, element kind, shared_options const& = {});
  static shared_table create(std::string const& name, std::uint64_t bytes, shared_options const& = {});  // a row of raw bytes
  // The table that another process created, once published. errc::io if it does not exist or is stale; errc::input if its header is
  // damaged.
  static shared_table attach(std::string const& name, shared_options const& = {});

  void* data();  // for the creator, to fill it; errc::usage in other processes, which can only read it
  void publish();
  bool published() const;
  row_array rows() const;           // shares ownership: a tiered or unified tensor uses it in place
  void const* map_for(int device);  // pins it for this process, once; returns the device address
  std::string const& name() const;
  std::uint64_t bytes() const;
  bool created_here() const;
  // For a process that exits without destroying its tables: releases its hold, and removes tables that no other process holds.
  // Mappings stay readable.
  static void leave_all() noexcept;

  struct segment;

 private:
  explicit shared_table(std::shared_ptr<segment> s) : segment_(std::move(s)) {}
  std::shared_ptr<segment> segment_;
};

}  // namespace garner
