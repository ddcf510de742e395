// What `garner load` and `garner plan --algorithm load` share: options of features and of the loader.
#pragma once
#include <optional>
#include <string>

#include "command/loading.hpp"
#include "features/place_rows.hpp"
#include "garner/load.hpp"

namespace garner::cli {

// What the header of an .npy or feature file holds: rows and the bytes of one.
struct table_size {
  std::uint64_t rows = 0, row_bytes = 0;
};
// The tier of the rows of a table that are not cached in GPU memory.
struct row_arguments {
  std::string rows, host_rows, file_cache;
  void add_file_rows(verb& v);
  void check_rows() const;
  bool in_file(std::string const& table) const;  // its rows stay there
  // A table as --feature-tier has it; what does not stay in its file is read into memory for a device, by processes `together` once.
  row_array open_table(std::string const& table, execution_device where, rank_group* together = nullptr) const;
  // For a table that stays in its file: how much of it is in host memory.
  file_shares file_shares_of(table_size const& table) const;
  // Host memory for its rows: all of them, unless they stay in the file.
  std::uint64_t host_bytes(std::string const& table, std::uint64_t table_bytes) const;
  void set_file_budgets(tiered_options& o, row_array const& table) const;
};

struct load_arguments : loading_arguments, row_arguments {
  std::string features, labels, budget, strategy = "automatic", window_bytes, cache = "next-use";
  std::optional<std::uint64_t> width;
  std::optional<std::uint32_t> window;  // unset: chosen
  std::uint32_t ahead = 2, multiprocessors = 8;

  void add_rows(verb& v);
  void add_loader(verb& v);
  garner::loader_options loader() const;  // errc::usage where one is out of range
  // Bytes of --feature-cache; unset: nobody said.
  std::optional<std::uint64_t> budget_bytes(std::uint64_t table_bytes) const;
  void check() const;
};

table_size size_of(std::string const& file);

}  // namespace garner::cli
