#include "loading.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/random.hpp"
#include "graph/handle.hpp"
#include "load/plan.hpp"
#include "sample/lists.hpp"
#include "traverse/plan.hpp"

namespace garner::cli {

loading_arguments::loading_arguments() { fanout = "15,10,5", rule = "last", train = "", batch = 1024; }

void loading_arguments::add_sampling(verb& v, char const* scored) {
  add_file(v);
  v.add("--fanout", fanout, "neighbors sampled per node, for each hop; -1: all");
  v.add("--batch", batch);
  v.add("--train", train, "training nodes: a share of all, as 1%, or a file of node ids (default: --share)").not_with("--share");
  v.add("--share", share);
  v.add("--rule", rule);
  v.add("--side", side);
  v.add("--replace", replace);
  v.add("--disjoint", disjoint);
  v.add("--weighted", weighted);
  v.add("--labor", labor).not_with("--replace").not_with("--weighted");
  v.add("--edge-ids", edge_ids);
  v.add("--graph-cache", keep_lists);
  v.add("--score", score, scored);
  v.add("--seed", seed, "random seed of training nodes, order and samples");
}
void loading_arguments::add_run(verb& v) {
  v.add("--epochs", epochs);
  v.add("--batches", batches);
  v.add("--verify", verify, "check every mini-batch against graph and features, on the host");
}

std::vector<std::int64_t> loading_arguments::fanouts() const {
  std::vector<std::int64_t> all;
  for (std::size_t at = 0; at <= fanout.size();) {
    std::size_t const end = std::min(fanout.find(',', at), fanout.size());
    std::string const word = fanout.substr(at, end - at);
    if (word == "-1") all.push_back(-1);
    else if (not_a_count(word, 1u << 20).empty() && !word.empty()) all.push_back(std::stoll(word));
    else fail(errc::usage, "--fanout {}: use one number per hop, as 15,10,5; -1 samples all neighbors", fanout);
    at = end + 1;
  }
  return all;
}
edge_direction loading_arguments::lists() const {
  if (side == "in") return edge_direction::in;
  if (side == "out") return edge_direction::out;
  fail(errc::usage, "--side {}: use in (sources of in-edges) or out", side);
}
block_options loading_arguments::blocks() const {
  block_options o;
  o.seed = seed;
  o.rule = parse_hop_rule(rule);
  o.replace = replace, o.disjoint = disjoint, o.weighted = weighted, o.labor = labor, o.edge_ids = edge_ids;
  return o;
}
std::uint64_t loading_arguments::kept_list_bytes(std::uint64_t all) const {
  std::uint64_t const said = keep_lists.empty() ? 0 : bytes_or_share("--graph-cache", "adjacency", keep_lists, all);
  return where().kind == device_kind::cpu ? 0 : std::min(all, said);
}
std::uint64_t bytes_or_share(char const* option, char const* what, std::string const& text, std::uint64_t of) {
  if (!text.ends_with('%')) return parse_bytes(text);
  char* end = nullptr;
  double const share = std::strtod(text.c_str(), &end) / 100;
  if (end != text.c_str() + text.size() - 1 || !(share >= 0 && share <= 1))
    fail(errc::usage, "{} {}: use bytes, as 8GiB, or a share of the {} from 0% to 100%", option, text, what);
  return static_cast<std::uint64_t>(std::llround(share * static_cast<double>(of)));
}
std::vector<float> loading_arguments::scores_of(graph_handle const& g, training_vertices const& train,
                                                std::optional<garner::tier> edges) const {
  std::uint64_t const n = g.info().vertices;
  if (score.ends_with(".npy")) {
    std::vector<float> given = read_scores(score);
    if (given.size() != n) fail(errc::input, "{}: {} scores for {} nodes; give each node one", score, given.size(), n);
    return given;
  }
  score_options o;
  o.device = where();
  o.sampling.fanouts.clear();
  for (std::int64_t const f : fanouts())
    o.sampling.fanouts.push_back(f < 0 ? 1024u : static_cast<std::uint32_t>(std::min<std::int64_t>(f, 1024)));
  o.sampling.rule = parse_hop_rule(rule);
  o.sampling.batch = batch;
  o.sampling.seed = seed;
  o.by = parse_score(score);
  o.edges = edges;
  std::vector<std::uint64_t> const ids = g.ids();
  for (std::int64_t const k : train.positions) o.train.push_back(ids[static_cast<std::size_t>(k)]);
  return scores(g, o).score;
}
void loading_arguments::check() const {
  fanouts();
  lists();
  blocks();
  kept_list_bytes(1);
  if (!score.ends_with(".npy")) parse_score(score);
  if (batch < 1 || batch > 1u << 24) fail(errc::usage, "--batch {}: use 1 to 16,777,216 training nodes", batch);
  if (epochs < 1) fail(errc::usage, "--epochs 0: use 1 or more");
  if (batches && *batches < 1) fail(errc::usage, "--batches 0: use 1 or more");
  if (train.empty()) share_of(share, 1);
  else check_training(train);
}

std::uint64_t drawn_list_bytes(graph_source const& from, loading_arguments const& a) {
  graph_info const& info = from.info();
  stored const kept = stored_in(from.header());
  return target_bytes(info, kept, a.lists() == edge_direction::in && info.directed) + (a.weighted ? weight_bytes(info, kept) : 0);
}

graph_handle loading_arguments::load_lists(graph_source& from, std::optional<garner::tier>& chosen, std::uint64_t near_bytes,
                                           std::uint64_t host_bytes) const {
  if (weighted && from.info().weights == weight_kind::none)
    fail(errc::input, "{}: --weighted, and this graph has no weights; create it with --random-weights (garner convert, garner generate)",
         file);
  if (wants_in_lists()) from.want_in_lists();
  std::uint64_t const keeps = kept_list_bytes(drawn_list_bytes(from, *this));
  return load(from, chosen, wants_in_lists(), near_bytes,
              {weighted, host_bytes, keeps ? keeps + kept_list_places(from.info(), weighted) : 0});
}

std::uint64_t share_of(std::string const& text, std::uint64_t of) {
  char* end = nullptr;
  double const share = std::strtod(text.c_str(), &end) / 100;
  if (!text.ends_with('%') || end != text.c_str() + text.size() - 1 || !(share > 0 && share <= 1))
    fail(errc::usage, "--share {}: use a share above 0% and at most 100%, as 1%", text);
  return std::min(of, static_cast<std::uint64_t>(std::llround(std::max(1.0, share * static_cast<double>(of)))));
}

training_vertices training_of(graph_handle const& g, loading_arguments const& a) {
  training_vertices t;
  if (!a.train.empty()) {
    vertex_set ids = training_set(g, a.train, a.seed);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (std::uint64_t const id : ids) t.positions.push_back(static_cast<std::int64_t>(g.position(id)));
    return t;
  }
  graph const& inside = graph_access::of(g);
  edge_lists const& lists = inside.info.directed && a.lists() == edge_direction::in ? inside.in : inside.out;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> keyed;
  for (std::uint64_t k = 0; k < inside.info.vertices; ++k) {
    std::uint64_t const v = inside.at_rank(k);
    if (lists.offsets[v + 1] > lists.offsets[v]) keyed.emplace_back(random_bits(a.seed, 11, k), k);
  }
  if (keyed.empty()) fail(errc::input, "{}: no node has neighbors, so none is picked for training; name some with --train", a.file);
  t.drawn_from = keyed.size();
  std::uint64_t const wanted = share_of(a.share, keyed.size());
  if (wanted < keyed.size()) std::nth_element(keyed.begin(), keyed.begin() + static_cast<std::ptrdiff_t>(wanted), keyed.end());
  for (std::uint64_t i = 0; i < wanted; ++i) t.positions.push_back(static_cast<std::int64_t>(keyed[i].second));
  std::sort(t.positions.begin(), t.positions.end());
  return t;
}

namespace {
std::string sampling_words(loading_arguments const& a) {
  std::string words = fmt::format("fanouts {}, rule {}, {}-neighbors", a.fanout, a.rule, a.side);
  for (auto const& [said, word] :
       {std::pair{a.replace, ", with replacement"}, std::pair{a.disjoint, ", disjoint trees"}, std::pair{a.weighted, ", by weights"},
        std::pair{a.labor, ", by LABOR"}, std::pair{a.edge_ids, ", with edge ids"}})
    if (said) words += word;
  return words;
}
}  // namespace

void say_sampling(graph_source const& from, loading_arguments const& a, garner::tier edges, training_vertices const& t,
                  std::uint64_t batches) {
  say("graph   {}: {}\n", a.file, describe(from.info()));
  if (from.makes()) say_made(from.makes(), from.making_ms());
  say("device  {}; adjacency in tier {}, access {}\n", to_string(a.where()), to_string(edges), a.access());
  say("sampler {}\n", sampling_words(a));
  say("seeds   {}{}, mini-batches of {}: {} per epoch\n", grouped(t.positions.size()),
      t.drawn_from ? fmt::format(" of {} nodes with neighbors", grouped(t.drawn_from)) : "", grouped(a.batch), grouped(batches));
}

nlohmann::ordered_json sampling_json(graph_source const& from, loading_arguments const& a, garner::tier edges, training_vertices const& t,
                                     std::uint64_t batches) {
  using json = nlohmann::ordered_json;
  return {{"file", a.file},
          {"nodes", from.info().vertices},
          {"edges", from.info().edges},
          {"in_edges_built_ms", from.makes_in_lists() ? json(from.making_ms()) : json(nullptr)},
          {"device", to_string(a.where())},
          {"tier", to_string(edges)},
          {"access", a.access()},
          {"fanouts", a.fanouts()},
          {"rule", a.rule},
          {"side", a.side},
          {"replace", a.replace},
          {"disjoint", a.disjoint},
          {"weighted", a.weighted},
          {"labor", a.labor},
          {"batch", a.batch},
          {"seed", a.seed},
          {"training_nodes", t.positions.size()},
          {"sampled_from", t.drawn_from ? json(t.drawn_from) : json(nullptr)},
          {"batches_per_epoch", batches}};
}

}  // namespace garner::cli
