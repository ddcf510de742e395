// A loader whose rows of files are read by something else than its own file_cache: the lab's ways.
#pragma once
#include <functional>
#include <memory>

#include "features/file_cache.hpp"
#include "garner/load.hpp"

namespace garner {

struct loader_access {
  // Called for each table whose rows stay in a file, with what the loader's own file_cache would be made of.
  using rows_source = std::function<std::unique_ptr<file_rows>(execution_device where, std::shared_ptr<stored_rows const> const& file,
                                                               row_view const& table, file_cache::terms const& own)>;
  static loader with_rows(rows_source const& source, block_sampler& sampler, std::vector<loaded_table> tables,
                          std::vector<std::int64_t> seeds, loader_options const& options);
};

}  // namespace garner
