// One table in host memory for several processes, each of which pins and maps it for its own device (section 3.3 of Min's dissertation: the
// processes of a multi-GPU training share the feature table). POSIX shared memory of the user's own: mode 0600, and gone with the last
// process that holds it, whoever that is, also when others were killed.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "garner/features.hpp"

namespace garner {

struct shared_options {
  bool replace_stale = false;  // create: a segment of that name which no process holds any more is removed first
  double wait_seconds = 60;    // attach: how long to wait for the creator to fill it
};

class shared_table {
 public:
  // A new table, zero at first; the host budget of this process pays for it. `name`: letters, digits, '-', '_', '.'; other users may have
  // the same. errc::usage for a bad name or a name that is held; errc::io names a stale segment, its size and its age, and what to try;
  // errc::memory where shared memory is short. Fill data(), then say publish().
  static shared_table create(std::string const& name, std::uint64_t rows, std::uint64_t width, element kind, shared_options const& = {});
  static shared_table create(std::string const& name, std::uint64_t bytes, shared_options const& = {});  // a row of raw bytes
  // The table that another process made, once it is published. errc::io where there is none, or a stale one; errc::input where its header
  // lies.
  static shared_table attach(std::string const& name, shared_options const& = {});

  void* data();  // of its creator, to fill it; errc::usage elsewhere, where it may be read alone
  void publish();
  bool published() const;
  row_array rows() const;           // keeps the table: a tiered or unified tensor takes it in place
  void const* map_for(int device);  // pins it for this process, once; as that device reads it
  std::string const& name() const;
  std::uint64_t bytes() const;
  bool created_here() const;
  // Before the process ends without the destructors of what still holds tables: it counts as gone, and what nobody else holds is removed.
  // What is mapped can still be read.
  static void leave_all() noexcept;

  struct segment;

 private:
  explicit shared_table(std::shared_ptr<segment> s) : segment_(std::move(s)) {}
  std::shared_ptr<segment> segment_;
};

}  // namespace garner
