#include "load_options.hpp"

#include "core/fail.hpp"
#include "core/npy.hpp"
#include "memory/budget.hpp"

namespace garner::cli {

void load_arguments::add_rows(verb& v) {
  v.add("--features", features).not_with("--width");
  v.add("--width", width);
  v.add("--labels", labels);
  v.add("--budget", budget);
}
void load_arguments::add_loader(verb& v) {
  v.add("--way", way);
  v.add("--window", window);
  v.add("--ahead", ahead);
  v.add("--window-bytes", window_bytes);
  v.add("--multiprocessors", multiprocessors);
}

garner::loader_options load_arguments::loader() const {
  garner::loader_options o;
  o.batch = batch;
  o.seed = seed;
  o.ahead = ahead, o.window = window;
  o.way = parse_load_way(way);
  o.multiprocessors = multiprocessors;
  if (!window_bytes.empty()) o.window_bytes = parse_bytes(window_bytes);
  return o;
}

std::optional<std::uint64_t> load_arguments::budget_bytes(std::uint64_t table_bytes) const {
  if (budget.empty()) return std::nullopt;
  return bytes_or_share("--budget", "rows", budget, table_bytes);
}

void load_arguments::check() const {
  loading_arguments::check();
  loader();
  if (window < 1 || window > 64) fail(errc::usage, "--window {}: say 1 to 64 mini-batches", window);
  if (ahead < 1 || ahead > 64) fail(errc::usage, "--ahead {}: say 1 to 64 mini-batches", ahead);
  if (features.empty() && !width) fail(errc::usage, "which rows? Name a table with --features FILE.npy, or make one with --width N");
  if (width && (*width < 1 || *width > 1u << 24)) fail(errc::usage, "--width {}: say 1 to 16,777,216 elements", *width);
  budget_bytes(1);
}

table_size size_of(std::string const& file) {
  npy_file const at(file);
  return {at.rows(), at.row_bytes()};
}

}  // namespace garner::cli
