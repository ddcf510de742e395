// Host memory shared by ranks that are processes: features and adjacency (features/common_rows.hpp, graph/common_lists.hpp).
#include "comm/rank_group.hpp"
#include "features/common_rows.hpp"
#include "garner/gnn.hpp"
#include "graph/handle.hpp"

namespace garner {

row_array read_rows(std::filesystem::path const& file, rank_group& ranks, execution_device where) {
  return as_error([&] {
    auto const terms = ranks.common(where.kind == device_kind::cuda ? where.index : -1);
    return terms ? read_rows_in_common(file, *terms) : read_rows(file);
  });
}
graph_handle open_graph(std::filesystem::path const& file, open_options const& options, rank_group& ranks) {
  return as_error([&] {
    auto const terms = ranks.common(options.device.kind == device_kind::cuda ? options.device.index : -1);
    return terms ? open_in_common(file, options, *terms) : open_graph(file, options);
  });
}

}  // namespace garner
