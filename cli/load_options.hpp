// What `garner load` and `garner plan --job load` are told of rows and of the loader.
#pragma once
#include <optional>
#include <string>

#include "garner/load.hpp"
#include "loading.hpp"

namespace garner::cli {

struct load_arguments : loading_arguments {
  std::string features, labels, budget, way = "automatic", window_bytes;
  std::optional<std::uint64_t> width;
  std::uint32_t window = 8, ahead = 2, multiprocessors = 16;

  void add_rows(verb& v);
  void add_loader(verb& v);
  garner::loader_options loader() const;  // errc::usage where one is out of range
  // Bytes of --budget; unset: nobody said.
  std::optional<std::uint64_t> budget_bytes(std::uint64_t table_bytes) const;
  void check() const;
};

// Of an .npy file, what its header says: rows and the bytes of one.
struct table_size {
  std::uint64_t rows = 0, row_bytes = 0;
};
table_size size_of(std::string const& file);

}  // namespace garner::cli
