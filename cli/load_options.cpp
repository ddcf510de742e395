#include "load_options.hpp"

#include "garner/convert.hpp"
#include "garner/gnn.hpp"
#include "garner/memory.hpp"

namespace garner::cli {

void load_arguments::add_rows(verb& v) {
  v.add("--features", features).not_with("--width");
  v.add("--width", width);
  v.add("--labels", labels);
  v.add("--feature-cache", budget);
  add_file_rows(v);
}
void row_arguments::add_file_rows(verb& v) {
  v.add("--feature-tier", rows);
  v.add("--host-cache", host_rows);
  v.add("--file-cache", file_cache);
}
void row_arguments::check_rows() const {
  if (!rows.empty() && rows != "host" && rows != "file") fail(errc::usage, "--feature-tier {}: use host or file", rows);
}
bool row_arguments::in_file(std::string const& table) const {
  if (table.empty()) return false;
  return rows.empty() ? is_row_file(table) : rows == "file";
}
row_array row_arguments::open_table(std::string const& table, execution_device where, rank_group* together) const {
  if (in_file(table)) return open_rows(table);
  bool const read = where.kind == device_kind::cuda || is_row_file(table);
  return !read ? map_rows(table) : together ? read_rows(table, *together, where) : read_rows(table);
}
std::uint64_t row_arguments::host_bytes(std::string const& table, std::uint64_t table_bytes) const {
  if (!in_file(table)) return table_bytes;
  std::uint64_t const said =
      host_rows.empty() ? host_memory_now().free() / 2 : bytes_or_share("--host-cache", "features", host_rows, table_bytes);
  return std::min(table_bytes, said);
}
file_shares row_arguments::file_shares_of(table_size const& table) const {
  file_budget b;
  b.rows = table.rows, b.row_bytes = table.row_bytes, b.free_host = host_memory_now().free();
  if (!host_rows.empty()) b.host_budget = bytes_or_share("--host-cache", "features", host_rows, table.rows * table.row_bytes);
  if (!file_cache.empty()) b.file_cache = parse_bytes(file_cache);
  return share_file_rows(b);
}
void row_arguments::set_file_budgets(tiered_options& o, row_array const& table) const {
  if (!table.file) return;
  if (!host_rows.empty()) o.host_cache = bytes_or_share("--host-cache", "features", host_rows, table.rows * table.row_bytes());
  if (!file_cache.empty()) o.file_cache = parse_bytes(file_cache);
}
void load_arguments::add_loader(verb& v) {
  v.add("--strategy", strategy);
  v.add("--window", window);
  v.add("--prefetch", ahead);
  v.add("--window-bytes", window_bytes);
  v.add("--cache-policy", cache);
  v.add("--multiprocessors", multiprocessors);
}

garner::loader_options load_arguments::loader() const {
  garner::loader_options o;
  o.batch_size = batch;
  o.seed = seed;
  o.prefetch = ahead, o.window = window.value_or(0);
  o.strategy = parse_load_strategy(strategy);
  o.cache = parse_cache_policy(cache);
  o.multiprocessors = multiprocessors;
  if (!window_bytes.empty()) o.window_bytes = parse_bytes(window_bytes);
  return o;
}

std::optional<std::uint64_t> load_arguments::budget_bytes(std::uint64_t table_bytes) const {
  if (budget.empty()) return std::nullopt;
  return bytes_or_share("--feature-cache", "features", budget, table_bytes);
}

void load_arguments::check() const {
  loading_arguments::check();
  loader();
  if (window && (*window < 1 || *window > 64)) fail(errc::usage, "--window {}: use 1 to 64 mini-batches", *window);
  if (ahead < 1 || ahead > 64) fail(errc::usage, "--prefetch {}: use 1 to 64 mini-batches", ahead);
  if (features.empty() && !width)
    fail(errc::usage, "which features? Name a table with --features FILE.npy, or generate one with --width N");
  check_rows();
  if (rows == "file" && features.empty()) fail(errc::usage, "--feature-tier file: in which file? Name it with --features");
  if (width && (*width < 1 || *width > 1u << 24)) fail(errc::usage, "--width {}: use 1 to 16,777,216 elements", *width);
  budget_bytes(1);
}

table_size size_of(std::string const& file) {
  row_array const at = describe_rows(file);
  return {at.rows, at.row_bytes()};
}

}  // namespace garner::cli
