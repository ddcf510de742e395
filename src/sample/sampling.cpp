// The contract of sampling: what the user's ids name becomes internal ids, and results leave in the order of the user's ids.
#include "garner/sample.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "core/executor.hpp"
#include "core/primitives.hpp"
#include "core/random.hpp"
#include "core/thread_pool.hpp"
#include "core/words.hpp"
#include "graph/handle.hpp"
#include "memory/buffer.hpp"
#include "sample/score.hpp"
#include "sample/table.hpp"
#include "sample/trace.hpp"

namespace garner {

void check_sampling(sample_options const& o) {
  if (o.fanouts.empty() || o.fanouts.size() > 6) fail(errc::usage, "{} hops: use 1 to 6 fanouts, as 12,12,12", o.fanouts.size());
  for (std::uint32_t const f : o.fanouts)
    if (f > 1024) fail(errc::usage, "fanout {}: use 1 to 1,024 neighbors per hop, or 0 for none", f);
  if (o.batch < 1 || o.batch > 1u << 24) fail(errc::usage, "mini-batches of {} training vertices: use 1 to 16,777,216", o.batch);
}

std::vector<std::uint64_t> training_ids(graph const& g, vertex_set const& users) {
  if (users.empty()) fail(errc::input, "{}: the training set is empty; name at least one vertex", g.name);
  std::vector<std::uint64_t> inside(users.size());
  for (std::size_t i = 0; i < users.size(); ++i) inside[i] = g.internal_id(users[i]);
  std::sort(inside.begin(), inside.end());
  inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
  return inside;
}

void require_pulled_lists(std::string const& name, graph_info const& info) {
  if (info.directed && info.edges > 0 && !info.in_edges)
    fail(errc::input, "{}: sampling reads in-edges, and this directed graph has no in-edges; add them with `garner convert --in-edges`",
         name);
}
edge_lists const& pulled_lists(graph const& g) {
  require_pulled_lists(g.name, g.info);
  return !g.info.directed || g.info.edges == 0 ? g.out : g.in;
}

vertex_set pick_training_set(graph_handle const& handle, double share, std::uint64_t seed) {
  graph const& g = graph_access::of(handle);
  if (!(share > 0 && share <= 1)) fail(errc::usage, "a training set of {} of the vertices: use a share above 0 and at most 1", share);
  return as_error([&] {
    std::uint64_t const n = g.info.vertices;
    auto const wanted = std::min<std::uint64_t>(n, static_cast<std::uint64_t>(std::llround(std::max(1.0, share * static_cast<double>(n)))));
    std::vector<std::pair<std::uint64_t, std::uint64_t>> keyed(n);
    shared_pool().run(n, 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t r = begin; r < end; ++r) keyed[r] = {random_bits(seed, 11, r), r};
    });
    std::nth_element(keyed.begin(), keyed.begin() + static_cast<std::ptrdiff_t>(wanted), keyed.end());
    vertex_set train(wanted);
    for (std::uint64_t i = 0; i < wanted; ++i) train[i] = g.user_id(g.at_rank(keyed[i].second));
    std::sort(train.begin(), train.end());
    return train;
  });
}

score_result scores(graph_handle const& handle, score_options const& o) {
  return as_error([&] {
    graph const& g = graph_access::of(handle);
    score_result r =
        score_vertices(g, o, needs_training(o.by) && g.info.vertices ? training_ids(g, o.train) : std::vector<std::uint64_t>{});
    if (g.info.order == vertex_order::natural) return r;
    std::vector<float> sorted(r.score.size());
    shared_pool().run(sorted.size(), 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t k = begin; k < end; ++k) sorted[k] = r.score[g.at_rank(k)];
    });
    r.score = std::move(sorted);
    return r;
  });
}

access_trace record_trace(graph_handle const& handle, trace_options const& o) {
  return as_error([&] { return record(graph_access::of(handle), o, training_ids(graph_access::of(handle), o.train)); });
}

std::vector<float> read_scores(std::filesystem::path const& file) {
  return as_error([&] { return read_score_file(file); });
}
void permute_table(graph_handle const& g, std::filesystem::path const& table, std::filesystem::path const& out) {
  as_error([&] { permute_rows(graph_access::of(g), table, out); });
}

namespace {

template <class Key>
std::vector<std::uint64_t> descending(std::uint64_t n, Key key) {
  if (n > 0xffffffffull) fail(errc::input, "{} rows are more than the 2^32 - 1 that can be ordered", n);
  executor x({device_kind::cpu, 0});
  buffer<std::uint64_t> keys(tier::host, n, -1, "rows, to sort"), spare(tier::host, n, -1, "rows, to sort");
  x.threads().run(n, 1u << 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t r = begin; r < end; ++r) keys[r] = std::uint64_t{key(r)} << 32 | r;
  });
  std::span<std::uint64_t> const sorted = sort(x, keys.span(), spare.span());
  std::vector<std::uint64_t> order(n);
  for (std::uint64_t i = 0; i < n; ++i) order[i] = sorted[i] & 0xffffffffu;
  return order;
}

}  // namespace

std::vector<std::uint64_t> rows_by_score(std::vector<float> const& score) {
  return as_error([&] {
    return descending(score.size(), [&](std::uint64_t r) {
      auto const bits = std::bit_cast<std::uint32_t>(score[r] + 0.0f);
      return bits >> 31 ? bits : ~bits & 0x7fffffffu;
    });
  });
}
std::vector<std::uint64_t> rows_by_count(std::vector<std::uint32_t> const& counts) {
  return as_error([&] { return descending(counts.size(), [&](std::uint64_t r) { return ~counts[r]; }); });
}
std::uint64_t hits(access_trace const& t, std::vector<std::uint64_t> const& order, std::uint64_t rows_kept) {
  std::uint64_t all = 0;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(rows_kept, order.size()); ++i) all += t.counts[order[i]];
  return all;
}

constexpr word_table<score_kind> score_kinds{
    "score '{text}': use degree, rpr (reverse PageRank), wrpr (weighted reverse PageRank), expected or sampled",
    {"degree", "rpr", "wrpr", "expected", "sampled"}};
std::string_view to_string(score_kind kind) { return score_kinds[kind]; }
score_kind parse_score(std::string_view text) {
  return score_kinds.parse(text == "reverse_pagerank" ? "rpr" : text == "weighted_reverse_pagerank" ? "wrpr" : text);
}
constexpr word_table<hop_rule> hop_rules{
    "hop rule '{text}': use all (every vertex so far samples) or last (those that the hop before reached)", {"all", "last"}};
std::string_view to_string(hop_rule value) { return hop_rules[value]; }
hop_rule parse_hop_rule(std::string_view text) { return hop_rules.parse(text); }
std::vector<std::uint32_t> parse_fanouts(std::string_view text) try {
  sample_options o;
  o.fanouts.clear();
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t const end = std::min(text.find(',', at), text.size());
    std::string_view const word = text.substr(at, end - at);
    std::uint32_t f = 0;
    auto const [stop, problem] = std::from_chars(word.data(), word.data() + word.size(), f);
    if (word.empty() || problem != std::errc{} || stop != word.data() + word.size())
      fail(errc::usage, "fanout '{}': use 1 to 6 whole numbers, as 12,12,12", text);
    o.fanouts.push_back(f);
    at = end + 1;
  }
  check_sampling(o);
  return o.fanouts;
} catch (...) {
  rethrow_as_error();
}

}  // namespace garner
