// Trainable rows with their state in a file: a head, then one record after the other. Records that change go to a
// journal, which has no name until flush() publishes it whole; only then is the file written. So it holds the state of the last flush, on a
// crash too: the next to open it finishes a flush that was cut off. Invariant: read() returns what change() wrote last. One process has the
// file open.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/publish.hpp"
#include "garner/embedding.hpp"

namespace garner {

class trained_file {
 public:
  struct shape {
    std::uint64_t rows = 0, width = 0, record_bytes = 0;
    element kind = element::f32;
    row_optimizer optimizer = row_optimizer::adam;
  };
  // Makes the file, whole or not at all, of the records that `draw` writes: some thousand at a time.
  using draw_records_to = std::function<void(std::uint64_t first, std::uint64_t count, char* to)>;
  static void create(std::filesystem::path const& file, shape const& of, draw_records_to const& draw);
  // errc::input where it is another table's, errc::io where it cannot be written or another process has it.
  trained_file(std::filesystem::path file, shape const& of);
  ~trained_file();
  trained_file(trained_file const&) = delete;
  trained_file& operator=(trained_file const&) = delete;

  std::string const& name() const { return name_; }
  std::uint64_t steps() const { return steps_; }  // at the last flush
  std::uint64_t changed() const { return place_of_.size(); }
  // Record k goes to `at[k]`, or comes from there. errc::io: of changes all or none have counted.
  void read(std::span<std::uint64_t const> rows, std::span<char* const> at) const;
  void change(std::span<std::uint64_t const> rows, std::span<char const* const> at);
  void flush(std::uint64_t steps);

 private:
  void apply_journal();
  void require_whole() const;
  std::string name_;
  shape of_;
  std::uint64_t steps_ = 0;
  int fd_ = -1;
  bool behind_ = false;  // a published journal could not be applied
  std::unique_ptr<pending_file> journal_;
  std::unordered_map<std::uint64_t, std::uint64_t> place_of_;  // of a row's record in the journal
  std::vector<std::uint64_t> row_at_;
};

// Records in memory that devices read, by slot. What leaves for others and has changed goes to the file's journal.
class record_cache {
 public:
  record_cache(trained_file& file, char* records, std::uint64_t slots, std::uint64_t record_bytes)
      : file_(file), records_(records), bytes_(record_bytes), slots_(slots) {}
  // slots[k]: of rows[k], which are different ones and no more than there are slots. `change`: the caller changes them.
  void bring(std::span<std::uint64_t const> rows, bool change, std::uint64_t* slots);
  void write_back();
  std::uint64_t row_in(std::uint64_t slot) const { return slots_[slot].row; }
  char const* find(std::uint64_t row) const;        // null: not here
  void put(std::uint64_t row, char const* record);  // where it is here

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  struct slot {
    std::uint64_t row = none, used = 0;   // used: the last call that brought it
    bool changed = false, again = false;  // again: it was used twice, and gets a second chance
  };
  char* at(std::uint64_t slot) const { return records_ + slot * bytes_; }
  trained_file& file_;
  char* records_;
  std::uint64_t bytes_, calls_ = 0, hand_ = 0;
  std::vector<slot> slots_;
  std::unordered_map<std::uint64_t, std::uint64_t> slot_of_;
};

}  // namespace garner
