#include "load/checks.hpp"

#include <utility>

#include "core/fail.hpp"
#include "features/gather.hpp"
#include "features/window.hpp"
#include "load/plan.hpp"
#include "sample/blocks.hpp"

namespace garner {

namespace {

constexpr std::uint32_t most_ahead = 64;

void check_options(loader_options const& o) {
  if (o.batch_size < 1 || o.batch_size > 1u << 24) fail(errc::usage, "mini-batches of {} seeds: use 1 to 16,777,216", o.batch_size);
  if (o.prefetch < 1 || o.prefetch > most_ahead) fail(errc::usage, "{} mini-batches ahead: use 1 to {}", o.prefetch, most_ahead);
  if (o.window < 1 || o.window > batch_list::most)
    fail(errc::usage, "a window of {} mini-batches: use 1 to {}", o.window, batch_list::most);
  if (o.ranks < 1 || o.rank >= o.ranks) fail(errc::usage, "rank {} of {}: ranks count from 0", o.rank, o.ranks);
}
void check_tables(block_sampler& sampler, std::vector<loaded_table> const& tables, loader_options const& o) {
  for (std::size_t k = 0; k < tables.size(); ++k) {
    loaded_table const& t = tables[k];
    if (!t.table) fail(errc::usage, "table {} is missing", k);
    if (t.relation) {
      std::uint64_t const edges = sampler.inside().edges(*t.relation);
      if (!t.by && t.table->rows() < edges)
        fail(errc::input, "table {} has {} rows, and there are {} edges of its type; give each edge one row", k, t.table->rows(), edges);
      auto const numbers = [&](tiered_tensor const& by) { return by.row_bytes() == 4 || by.row_bytes() == 8; };
      if (t.by && (*t.by >= k || tables[*t.by].relation != t.relation || !numbers(*tables[*t.by].table)))
        fail(errc::usage, "table {} is by table {}; give one before it, with a whole number of 4 or 8 bytes for each edge of its type", k,
             *t.by);
    } else {
      std::uint64_t const vertices = sampler.vertices(t.seeds_only ? o.seed_type : t.type);
      if (t.by) fail(errc::usage, "table {} is by table {}, which is of edges alone; use its relation", k, *t.by);
      if (t.table->rows() < vertices)
        fail(errc::input, "table {} has {} rows, and there are {} vertices of its type; give each vertex one row", k, t.table->rows(),
             vertices);
    }
    if (!(t.table->device() == sampler.device()))
      fail(errc::usage, "table {} is gathered on {} and the sampler works on {}; give both the same device", k,
           to_string(t.table->device()), to_string(sampler.device()));
    tensor_access::written(*t.table, t.to);
  }
}

}  // namespace

load_terms::load_terms(block_sampler& s, std::vector<loaded_table> of_tables, loader_options const& options,
                       std::vector<std::int64_t> at_times)
    : sampler(s),
      tables(std::move(of_tables)),
      o(options),
      chooses_window(options.window == 0),
      times(std::move(at_times)),
      x(executor(s.device()), executor::urgent{}) {
  if (chooses_window) o.window = first_window;
  check_options(o);
  check_tables(sampler, tables, o);
}

void check_ids(load_terms const& t, std::vector<std::int64_t> const& from, std::uint32_t type) {
  std::uint64_t const n = t.sampler.vertices(type);
  for (std::size_t i = 0; i < from.size(); ++i)
    if (static_cast<std::uint64_t>(from[i]) >= n) fail_id("seed {} at position {}: there are {} vertices, counted from 0", from[i], i, n);
}
void check_times(std::vector<std::int64_t> const& at, std::size_t count) {
  if (!at.empty() && at.size() != count) fail(errc::input, "{} times for {} seeds; give each one", at.size(), count);
}
void check_seeds(load_terms const& t, std::vector<std::int64_t> const& from) {
  if (from.empty()) fail(errc::input, "the training set is empty; name at least one vertex");
  check_times(t.times, from.size());
  check_ids(t, from, t.o.seed_type);
  std::vector<bool> seen(t.sampler.vertices(t.o.seed_type));
  for (std::size_t i = 0; i < from.size(); ++i) {
    auto const v = static_cast<std::size_t>(from[i]);
    if (seen[v]) fail(errc::input, "seed {} at position {} stands there twice; name each vertex once", from[i], i);
    seen[v] = true;
  }
}

}  // namespace garner
