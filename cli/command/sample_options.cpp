#include "sample_options.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "graph/common_lists.hpp"
#include "graph/handle.hpp"
#include "job_options.hpp"
#include "sample/lists.hpp"
#include "traverse/plan.hpp"

namespace garner::cli {

void sample_arguments::add_file(verb& v) { v.add("FILE", file).required(); }
void sample_arguments::add_place(verb& v) {
  v.add("--device", place);
  v.add("--tier", tier);
}
void sample_arguments::add_training(verb& v, bool with_seed) {
  v.add("--train", train);
  v.add("--fanout", fanout);
  v.add("--rule", rule);
  v.add("--batch", batch);
  if (with_seed) v.add("--seed", seed, "random seed of training set, order and samples");
}
void sample_arguments::add_presample(verb& v, char const* of) {
  v.add("--presample", presample, fmt::format("{}: epochs sampled in advance, with their own seed", of));
}
void sample_arguments::add_rest(verb& v) {
  v.add("--json", json);
  v.add("--no-check", no_check);
  budgets.add(v, true);
}

garner::tier sample_arguments::edges(std::uint64_t near_bytes) const {
  if (!chooses_tier(tier)) return parse_tier(tier);
  std::uint64_t const free = device_bytes_at(where());
  return near_bytes < free - free / 16 ? garner::tier::device : garner::tier::host;
}

sample_options sample_arguments::sampling() const {
  sample_options o;
  o.fanouts = parse_fanouts(fanout);
  o.rule = parse_hop_rule(rule);
  if (batch < 1 || batch > 1u << 24) fail(errc::usage, "--batch {}: use 1 to 16,777,216 training nodes", batch);
  o.batch = batch;
  o.seed = seed;
  return o;
}

std::uint64_t sample_arguments::most_training(std::uint64_t vertices) const {
  double const share = train.ends_with('%') ? std::strtod(train.c_str(), nullptr) / 100 : 1;
  if (!(share > 0 && share < 1)) return vertices;
  return std::min(vertices, static_cast<std::uint64_t>(share * static_cast<double>(vertices)) + 1);
}

graph_handle sample_arguments::load(graph_source& from, std::optional<garner::tier>& chosen, bool in_edges, std::uint64_t state,
                                    more const& also) const {
  garner::execution_device const here = where();
  bool const on_device = here.kind == device_kind::cuda;
  garner::tier const first = edges(~std::uint64_t{0});
  require_combination(here, first, access_in(first));
  container_header const& header = from.header();
  stored const kept = stored_in(header);
  std::uint64_t const weights = also.weights ? weight_bytes(header.info, kept) : 0;
  std::uint64_t const lists =
      target_bytes(header.info, kept) + weights + (in_edges && header.info.in_edges ? target_bytes(header.info, kept, true) + weights : 0);
  bool const in_file = edges(lists + state + (header.info.vertices + 1) * 16) == garner::tier::file;  // each process reads for itself
  auto const terms = together && !in_file ? together->common(on_device ? here.index : -1) : std::nullopt;
  auto const load = [&] {
    chosen = edges(lists + state + (header.info.vertices + 1) * 16);
    bool const far = !in_device_memory(*chosen), beside = *chosen == garner::tier::peer;
    std::uint64_t const near = state + (on_device && !far && !beside ? lists : 0) + (far ? also.kept_lists : 0);
    std::uint64_t const kept_home = in_file ? file_tier_bytes(header.info, kept, in_edges && header.info.in_edges, also.weights)
                                    : far   ? lists
                                            : 0;
    std::uint64_t const home =
        (header.info.vertices + 1) * 16 + kept_home + (on_device ? 0 : near) + from.making_bytes(on_device, in_edges) + also.host_bytes;
    require_memory(file, home, on_device ? near : 0, here);
    if (beside) require_on_peer(file, lists, here);
    load_options how;
    how.edges = on_device || in_file ? *chosen : garner::tier::host;
    how.device = on_device && !(terms && how.edges == garner::tier::host) ? here.index : -1;
    how.in_edges = in_edges && header.info.in_edges;
    how.weights = also.weights;
    how.check = !no_check;
    return from.load(how);
  };
  if (!terms) return graph_access::wrap(load());
  graph g = load_in_common(*terms, load);
  if (!chosen) chosen = garner::tier::host, from.let_go();  // the first process has chosen, and has them
  return graph_access::wrap(std::move(g));
}

namespace {

std::optional<double> share_of(std::string const& text) {
  if (!text.ends_with('%')) return {};
  char* end = nullptr;
  double const share = std::strtod(text.c_str(), &end) / 100;
  if (end != text.c_str() + text.size() - 1 || !(share > 0 && share <= 1))
    fail(errc::usage, "--train {}: use a share above 0% and at most 100%, as 1%, or a file of node ids", text);
  return share;
}
std::ifstream ids_of(std::string const& text) {
  errno = 0;
  std::ifstream in(text);
  if (!in) fail(errc::io, "--train {}: cannot be read: {}; use a share, as 1%, or a file of node ids", text, std::strerror(errno));
  return in;
}

}  // namespace

void check_training(std::string const& text) {
  if (!share_of(text)) ids_of(text);
}

vertex_set training_set(graph_handle const& g, std::string const& text, std::uint64_t seed) {
  if (auto const share = share_of(text)) return pick_training_set(g, *share, seed);
  std::ifstream in = ids_of(text);
  vertex_set train;
  std::string line;
  for (std::uint64_t number = 1; std::getline(in, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word, more;
    if (!(words >> word)) continue;
    if (!not_a_count(word, ~std::uint64_t{0}).empty() || words >> more)
      fail(errc::input, "{}: line {}: {} is not a node id; expected one per line", text, number, shown(line));
    train.push_back(std::strtoull(word.c_str(), nullptr, 10));
  }
  if (train.empty()) fail(errc::input, "{}: names no node; write one node id per line", text);
  return train;
}

}  // namespace garner::cli
