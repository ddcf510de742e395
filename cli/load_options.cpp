#include "load_options.hpp"

#include <cmath>
#include <cstdlib>

#include "core/fail.hpp"
#include "core/npy.hpp"
#include "memory/budget.hpp"

namespace garner::cli {

void load_arguments::add_rows(verb& v) {
  v.add("--features", features).not_with("--width");
  v.add("--width", width);
  v.add("--labels", labels);
  v.add("--budget", budget);
  v.add("--score", score,
        "of rows kept: degree, rpr, wrpr, expected, sampled (see garner score), or an .npy file by ascending id; with --budget");
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
  if (!budget.ends_with('%')) return parse_bytes(budget);
  char* end = nullptr;
  double const share = std::strtod(budget.c_str(), &end) / 100;
  if (end != budget.c_str() + budget.size() - 1 || !(share >= 0 && share <= 1))
    fail(errc::usage, "--budget {}: say bytes, as 8GiB, or a share of the rows from 0% to 100%", budget);
  return static_cast<std::uint64_t>(std::llround(share * static_cast<double>(table_bytes)));
}

void load_arguments::check() const {
  loading_arguments::check();
  loader();
  if (window < 1 || window > 64) fail(errc::usage, "--window {}: say 1 to 64 mini-batches", window);
  if (ahead < 1 || ahead > 64) fail(errc::usage, "--ahead {}: say 1 to 64 mini-batches", ahead);
  if (features.empty() && !width) fail(errc::usage, "which rows? Name a table with --features FILE.npy, or make one with --width N");
  if (width && (*width < 1 || *width > 1u << 24)) fail(errc::usage, "--width {}: say 1 to 16,777,216 elements", *width);
  budget_bytes(1);
  if (!score.ends_with(".npy")) parse_score(score);
}

table_size size_of(std::string const& file) {
  npy_file const at(file);
  return {at.rows(), at.row_bytes()};
}

}  // namespace garner::cli
